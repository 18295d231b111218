#!/usr/bin/env bash
# seeds.sh PROGRAM SCENARIOS COUNT: COUNT seeds (or TROUPE_SIM_SEEDS) spread over all scenarios.
set -euo pipefail
exec "$1" --scenario "$2" --seeds "${TROUPE_SIM_SEEDS:-$3}" --quiet
