#!/usr/bin/env bash
# Runs the integration tests: real server processes, real drivers and raw sockets.
#   TROUPE_BIN=build/bin test/integration/run.sh [--filter TEXT]
# The last line is "N passed, M failed"; the exit code is 0 only when all passed and at least one ran.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TROUPE_BIN=${TROUPE_BIN:-$here/../../build/bin}
# Debian's own interpreter: python3-pymongo belongs to it, whatever other python3 is first on the PATH.
exec /usr/bin/python3 -B "$here/runner.py" "$@"
