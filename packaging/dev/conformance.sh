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
  conformance_on_set "$work" "$node" || status=1
  return "$status"
}

# What drivers at their defaults do with a replica set: all areas but those of transactions and change streams.
readonly kAreasOfSets=(bson-corpus causal-consistency collection-management command-logging-and-monitoring crud gridfs
  index-management read-write-concern retryable-reads retryable-writes run-command sessions unified-test-format
  versioned-api)

# conformance_on_set DIR NODE: the drivers' specifications against three members, which end with this step.
conformance_on_set() {
  local work=$1 node=$2 number port hosts='' status=0
  local -a ports=() servers=() areas=()
  for number in 1 2 3; do
    rm -rf "$work/data$number"
    mkdir -p "$work/data$number"
    port=$(free_port)
    ports+=("$port")
    hosts+=${hosts:+,}127.0.0.1:$port
    build/bin/trouped --dbpath "$work/data$number" --port "$port" --admin-port "$(free_port)" --replSet rs \
      --nodeName "127.0.0.1:$port" --setParameter enableTestCommands=1 >"$work/server$number.log" 2>&1 </dev/null &
    servers+=($!)
    wait_for_port "$port" $! || status=1
  done
  for number in "${kAreasOfSets[@]}"; do areas+=(--area "$number"); done
  if [[ $status == 0 ]] && /usr/bin/python3 test/conformance/initiate.py rs "${ports[@]}"; then
    "$node" "$work/run.mjs" --uri "mongodb://$hosts/?replicaSet=rs" --dir "$work/spec" --require-failpoints "${areas[@]}" \
      --timeout 900 --json "$work/set-results.json" >"$work/set-run.log" || true
    /usr/bin/python3 test/conformance/known.py test/conformance/set_known_failures.txt "$work/set-run.log" || status=1
  else
    note "the set did not come up; see $work/server1.log"
    status=1
  fi
  kill "${servers[@]}" 2>/dev/null || true
  wait "${servers[@]}" 2>/dev/null || true
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
