# Sourced by ./dev: the conformance suite, when it lies next to the checkout, against a server of its own.
# shellcheck shell=bash disable=SC2154

readonly kConformancePercent=90

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# wait_for_port PORT PID: until the server listens; fails when it ends or takes longer than a minute.
wait_for_port() {
  local attempt
  for ((attempt = 0; attempt < 600; attempt++)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

conformance_suite() { echo "${TROUPE_CONFORMANCE:-$root/../shared/conformance}"; }

# start_server DIR: a server on an empty directory below DIR, for the rest of this step. Sets `port`.
start_server() {
  rm -rf "$1/data"
  mkdir -p "$1/data"
  port=$(free_port)
  build/bin/trouped --dbpath "$1/data" --port "$port" --admin-port "$(free_port)" \
    --setParameter enableTestCommands=1 >"$1/server.log" 2>&1 </dev/null &
  local server=$!
  # shellcheck disable=SC2064
  trap "kill $server 2>/dev/null; wait $server 2>/dev/null" EXIT
  if wait_for_port "$port" "$server"; then return 0; fi
  note "the server did not come up:"
  tail -n 20 "$1/server.log"
  return 1
}

conformance_tests() {
  local suite work=$root/build/conformance node port status=0
  suite=$(conformance_suite)
  if [[ ! -f $suite/run.mjs ]]; then note "no conformance suite next to the checkout: skipped"; return "$kSkipped"; fi
  node=$(find_node)
  mkdir -p "$work"
  cp -r --no-preserve=mode "$suite/." "$work/"
  (cd "$work" && PATH=$(dirname "$node"):$PATH npm ci --no-audit --no-fund </dev/null)

  start_server "$work" || return 1
  "$node" "$work/smoke.mjs" "mongodb://127.0.0.1:$port" || status=1
  "$node" "$work/run.mjs" --uri "mongodb://127.0.0.1:$port" --dir "$work/spec" --require-failpoints \
    --timeout 900 --json "$work/results.json" | tee "$work/run.log" || true
  awk -v floor="$kConformancePercent" '
    /^[0-9]+ passed, [0-9]+ failed/ { passed = $1; failed = $3 }
    END {
      rate = passed + failed ? 100 * passed / (passed + failed) : 0
      printf "    conformance: %.1f%% of %d tests (floor %d%%)\n", rate, passed + failed, floor
      exit rate < floor
    }' "$work/run.log" || status=1
  return "$status"
}

# functional_tests: the query language and the commands case by case; no folder may fall below its floor.
functional_tests() {
  local suite work=$root/build/functional port status=0
  suite=$(conformance_suite)
  if [[ ! -f $suite/functional.sh ]]; then note "no functional suite next to the checkout: skipped"; return "$kSkipped"; fi
  ensure functional
  mkdir -p "$work"
  start_server "$work" || return 1
  "$suite/functional.sh" "mongodb://127.0.0.1:$port" --jobs "$(cores)" --out "$work/results.jsonl" >"$work/table.txt" || status=1
  python3 test/conformance/floors.py test/conformance/functional_floors.txt "$work/table.txt" || status=1
  return "$status"
}
