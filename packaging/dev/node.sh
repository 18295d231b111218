# Sourced by ./dev helpers: a Node.js that is new enough for current drivers.
# shellcheck shell=bash disable=SC2154

# node_is_new_enough NODE: 20.19 or newer.
node_is_new_enough() {
  "$1" -e 'const [major, minor] = process.versions.node.split(".").map(Number);
           process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

# find_node: prints the path of a Node.js >= 20.19; takes one from the npm package `node` when the machine's is older.
find_node() {
  local own=$root/build/tools/node_modules/node/bin/node
  if command -v node >/dev/null && node_is_new_enough "$(command -v node)"; then command -v node; return; fi
  if ! { [[ -x $own ]] && node_is_new_enough "$own"; }; then
    note "Node.js on this machine is older than 20.19: taking version 20 from the npm registry" >&2
    mkdir -p "$root/build/tools"
    npm install --prefix "$root/build/tools" --no-audit --no-fund --no-save node@20 >&2 </dev/null || return 1
  fi
  echo "$own"
}
