#!/usr/bin/env bash
# The admin page in headless Chromium: installs what that needs (unless it is there), then runs admin_page.mjs.
# Arguments go to the test. TROUPE_BIN: the folder of trouped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=/dev/null
source "$root/packaging/dev/common.sh"
# shellcheck source=/dev/null
source "$root/packaging/dev/node.sh"
ensure test browser
node=$(find_node)
place=$root/build/tools/browser
mkdir -p "$place"
cp "$root"/test/integration/browser/{package.json,*.mjs} "$place/"
if [[ ! -d $place/node_modules/axe-core || ! -d $place/node_modules/playwright-core || ! -d $place/node_modules/mongodb ]]; then
  npm install --prefix "$place" --no-audit --no-fund --no-package-lock >/dev/null </dev/null
fi
export TROUPE_BIN=${TROUPE_BIN:-$root/build/bin} TROUPE_CHROMIUM=${TROUPE_CHROMIUM:-$(command -v chromium)}
cd "$place"
exec "$node" admin_page.mjs "$@"
