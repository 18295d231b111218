#!/usr/bin/env bash
# seeds.sh PROGRAM SCENARIOS COUNT: COUNT seeds (or TROUPE_SIM_SEEDS) spread over all scenarios. With enough of them every fault site
# of the code has to fire.
set -euo pipefail
seeds=${TROUPE_SIM_SEEDS:-$3}
every=()
[[ $seeds -lt 300 ]] || every=(--every-site)
exec "$1" --scenario "$2" --seeds "$seeds" --quiet "${every[@]}"
