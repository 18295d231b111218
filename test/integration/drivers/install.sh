#!/usr/bin/env bash
# Installs the Node driver, mongoose and mongosh of package.json below build/tools/drivers, unless they are there, and prints two
# lines: a Node.js that is new enough, and that folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=/dev/null
source "$root/packaging/dev/common.sh"
# shellcheck source=/dev/null
source "$root/packaging/dev/node.sh"
ensure test >&2
node=$(find_node)
place=$root/build/tools/drivers
mkdir -p "$place"
exec 9>"$place/.lock"
flock 9  # tests run side by side
if ! cmp -s "$root/test/integration/drivers/package.json" "$place/package.json" || [[ ! -x $place/node_modules/.bin/mongosh ]]; then
  cp "$root/test/integration/drivers/package.json" "$place/"
  PATH=$(dirname "$node"):$PATH npm install --prefix "$place" --no-audit --no-fund --no-package-lock >&2 </dev/null ||
    fail "the packages mongodb, mongoose and mongosh could not be installed: npm needs its registry"
fi
printf '%s\n%s\n' "$node" "$place"
