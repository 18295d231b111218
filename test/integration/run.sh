#!/usr/bin/env bash
# Runs the integration tests and the attacks of test/security: real server processes, real drivers and raw sockets.
#   TROUPE_BIN=build/bin test/integration/run.sh [--filter TEXT]
#   TROUPE_BIN=build/bin test/integration/run.sh --failovers N    none of them, but so many failovers under four drivers (failovers/), with a table
# The last line is "N passed, M failed"; the exit code is 0 only when all passed and at least one ran.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TROUPE_BIN=${TROUPE_BIN:-$here/../../build/bin}
TROUPE_BIN=$(realpath "$TROUPE_BIN")
if [[ ${1:-} == --failovers ]]; then
  PYTHONPATH=$here exec /usr/bin/python3 -B -m failovers "$@"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Debian's own interpreter: python3-pymongo belongs to it, whatever other python3 is first on the PATH.
/usr/bin/python3 -B "$here/runner.py" "$@" | tee "$log" || true
# As the runner does with its tests: what failed is tried again if it is little, and is unsteady if it passes then.
page=$(mktemp)
trap 'rm -f "$log" "$page"' EXIT
if ! "$here/browser/run.sh" "$@" | tee "$page"; then
  failures=$(sed -n '/^FAILED/,/^ok/{/^ok/!p}' "$page")
  count=$(grep -c '^FAILED' "$page" || true)
  if [[ ${TROUPE_TEST_SLOWNESS:-1} == 1 && $count -ge 1 && $count -le 2 ]] && "$here/browser/run.sh" "$@" | tee "$page"; then
    echo "$failures" | sed -n 's/^FAILED/unsteady, passed when it ran again:/p'
  fi
  printf 'what failed:\n%s\n' "$failures"
fi
cat "$page" >>"$log"
# Each of both ends with its counts; one that does not has failed as a whole.
awk '/^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; ++ended }
     END { failed += 2 - ended; printf "%d passed, %d failed\n", passed, failed; exit !(passed > 0 && failed == 0) }' "$log"
