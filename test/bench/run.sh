#!/usr/bin/env bash
# Runs every benchmark against a private PostgreSQL, a private Redis and a private trouped, prints the table and writes
# build/bench/results.json. Called by ./dev bench after it has built the programs.
#   test/bench/run.sh [--quick] [--only PART]...    parts: actors locks sessions limits links machines storage echo find insert ycsb memory fairness (wire: echo find insert)
#   test/bench/run.sh --targets [--only PART]...    only says which programs that needs
# TROUPE_BENCH_DIR: where the databases put their data (a disk, not memory); /var/tmp when not set.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$root/build/bin
out=$root/build/bench
steps=()
rounds=5 seconds=2 ycsb_rounds=3 records=50000 ycsb_records=100000 documents=20000
targets=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --targets) targets=yes ;;
    --quick) rounds=3 seconds=0.5 ycsb_rounds=1 records=10000 ycsb_records=10000 documents=5000 ;;
    --only)
      case ${2:-} in
        wire) steps+=(echo find insert) ;;
        actors | locks | sessions | limits | links | machines | storage | echo | find | insert | ycsb | memory | fairness) steps+=("$2") ;;
        *) echo "bench: no such part: ${2:-}" >&2; exit 2 ;;
      esac
      shift ;;
    *) echo "usage: $0 [--quick] [--only actors|locks|sessions|limits|links|machines|storage|wire|echo|find|insert|ycsb|memory|fairness]..." >&2; exit 2 ;;
  esac
  shift
done
[[ ${#steps[@]} -gt 0 ]] || steps=(actors locks sessions limits links machines storage echo find insert ycsb memory fairness)
# wanted PART...: whether one of them is.
wanted() {
  local part
  for part in "$@"; do [[ " ${steps[*]} " == *" $part "* ]] && return 0; done
  return 1
}
if [[ $targets == yes ]]; then
  if wanted actors; then echo actor_bench; fi
  if wanted locks; then echo lock_bench; fi
  if wanted sessions; then echo session_bench; fi
  if wanted limits; then echo limit_bench; fi
  if wanted links; then echo link_bench; echo cursor_bench; fi
  if wanted machines; then echo machine_bench; fi
  if wanted storage; then echo storage_bench; fi
  if wanted echo find insert; then echo wire_bench; fi
  if wanted ycsb; then echo ycsb_bench; fi
  if wanted memory; then echo memory_bench; fi
  if wanted fairness; then echo fairness_bench; fi
  if wanted echo find insert ycsb memory fairness; then echo trouped; fi
  exit 0
fi

work=$(mktemp -d "${TROUPE_BENCH_DIR:-/var/tmp}/troupe-bench.XXXXXX")
chmod 755 "$work"
mkdir -p "$out"
: >"$out/results.jsonl"
trouped_pid='' postgres_pid='' redis_pid=''

# PostgreSQL refuses to run as root.
as_postgres() { if [[ $(id -u) == 0 ]]; then runuser -u postgres -- "$@"; else "$@"; fi; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

stop_trouped() {
  [[ -n $trouped_pid ]] || return 0
  kill "$trouped_pid" 2>/dev/null || true
  wait "$trouped_pid" 2>/dev/null || true
  trouped_pid=''
}

cleanup() {
  stop_trouped
  if [[ -n $postgres_pid ]]; then as_postgres "$postgres/pg_ctl" -D "$work/postgres" -m immediate -s stop || true; fi
  if [[ -n $redis_pid ]]; then
    kill "$redis_pid" 2>/dev/null || true
    wait "$redis_pid" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT

fail() {
  printf 'bench: %s\n' "$1" >&2
  [[ ! -s ${2:-} ]] || tail -n 5 "$2" >&2
  exit 1
}

# start_trouped NAME: a fresh server; sets trouped_pid and port.
start_trouped() {
  local log=$work/$1.log
  port=$(free_port)
  mkdir "$work/$1"
  (ulimit -n "$(ulimit -Hn)"
   exec "$bin/trouped" --dbpath "$work/$1" --port "$port" --bind_ip 127.0.0.1 --wiredTigerCacheSizeGB 2 --logpath "$log") >"$log.out" 2>&1 &
  trouped_pid=$!
  for _ in $(seq 150); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return 0; fi
    kill -0 "$trouped_pid" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log.out" >&2
  fail "trouped did not start" "$log"
}

# start_postgres: durable as Debian sets it up; sets postgres, postgres_pid and conninfo.
start_postgres() {
  postgres=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
  [[ -x $postgres/initdb ]] || fail "no PostgreSQL in /usr/lib/postgresql: ./dev deps bench"
  local data=$work/postgres postgres_port
  mkdir "$data"
  if [[ $(id -u) == 0 ]]; then chown postgres "$data"; fi
  (cd / && as_postgres "$postgres/initdb" -D "$data" -A trust -U bench --no-sync --locale=C.UTF-8) >"$work/initdb.log" 2>&1 || fail "initdb failed" "$work/initdb.log"
  postgres_port=$(free_port)
  # The same memory as the other side; no vacuum in the middle of a round.
  as_postgres tee -a "$data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
port = $postgres_port
unix_socket_directories = '$data'
fsync = on
shared_buffers = 2GB
max_wal_size = 4GB
max_connections = 100
autovacuum = off
CONF
  (cd / && as_postgres "$postgres/pg_ctl" -D "$data" -w -s -l "$data/server.log" start) || fail "PostgreSQL did not start" "$data/server.log"
  postgres_pid=$(head -n 1 "$data/postmaster.pid")
  conninfo="host=127.0.0.1 port=$postgres_port user=bench dbname=postgres"
}

# start_redis: every SET is on the disk before it is answered; nothing else is written, and the log of it is not compacted
# in the middle of a round. Sets redis_pid and redis_port.
start_redis() {
  mkdir "$work/redis"
  redis_port=$(free_port)
  redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$work/redis" --save '' --appendonly yes --appendfsync always \
    --auto-aof-rewrite-percentage 0 >"$work/redis.log" 2>&1 </dev/null &
  redis_pid=$!
  for _ in $(seq 100); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$redis_port") 2>/dev/null; then return 0; fi
    kill -0 "$redis_pid" 2>/dev/null || break
    sleep 0.1
  done
  fail "Redis did not start: ./dev deps bench" "$work/redis.log"
}

# measure TITLE PROGRAM ARG...: runs a program and keeps its lines.
measure() {
  printf '\033[1m==>\033[0m %s\n' "$1" >&2
  "$bin/$2" "${@:3}" >>"$out/results.jsonl" || fail "$2 failed" "$work/first.log"
}

started=$SECONDS
if wanted actors; then measure "Actors" actor_bench; fi
if wanted locks; then measure "Locks" lock_bench; fi
if wanted sessions; then measure "Sessions" session_bench; fi
if wanted limits; then measure "Budgets and interrupt checks" limit_bench; fi
if wanted links; then measure "Links against a bare echo" link_bench --rounds "$rounds" --seconds "$seconds"; measure "Remote cursors" cursor_bench --directory "$work" --rounds "$rounds" --seconds "$seconds"; fi
if wanted machines; then measure "State machines against raw WiredTiger" machine_bench --directory "$work" --rounds "$rounds" --seconds "$seconds"; fi
if wanted storage; then measure "Storage against raw WiredTiger" storage_bench --directory "$work" --rounds "$rounds" --documents "$documents"; fi
if wanted find insert ycsb; then start_postgres; fi
if wanted find insert; then start_redis; fi
if wanted echo find insert ycsb; then start_trouped first; fi
for part in echo find insert; do
  wanted "$part" || continue
  measure "Wire: $part" wire_bench --only "$part" --port "$port" --pid "$trouped_pid" --postgres "${conninfo:-}" \
    --postgres-pid "${postgres_pid:-0}" --redis-port "${redis_port:-0}" --redis-pid "${redis_pid:-0}" \
    --rounds "$rounds" --seconds "$seconds" --records "$records"
done
if wanted ycsb; then
  measure "YCSB" ycsb_bench --port "$port" --postgres "$conninfo" --rounds "$ycsb_rounds" --seconds "$seconds" --records "$ycsb_records"
fi
stop_trouped
if wanted memory; then
  start_trouped idle
  (ulimit -n "$(ulimit -Hn)" && measure "Memory of idle connections" memory_bench --port "$port" --pid "$trouped_pid")
fi
stop_trouped
if wanted fairness; then
  start_trouped fairness
  measure "Fairness between clients" fairness_bench --port "$port" --seconds "$seconds"
fi
python3 "$root/test/bench/table.py" "$out/results.jsonl" "$out/results.json"
printf 'Took %s s; the numbers are also in build/bench/results.json\n' "$((SECONDS - started))"
