# Sourced by ./dev: runs the libFuzzer programs of build/fuzz/bin from their kept corpora.
# shellcheck shell=bash disable=SC2154

# fuzz_programs [NAME]: paths of the built fuzzers (of those whose name contains NAME).
fuzz_programs() {
  local program
  for program in "$root"/build/fuzz/bin/*"${1:-}"*_fuzz; do
    if [[ -x $program ]]; then echo "$program"; fi
  done
}

# fuzz_one SECONDS PROGRAM: runs it and prints one line; the log and any crashing input stay below build/fuzz.
fuzz_one() {
  local seconds=$1 program=$2 name corpus kept log status=0
  name=$(basename "$program" _fuzz)
  corpus=$root/build/fuzz/corpus/$name kept=$root/test/fuzz/corpus/$name log=$root/build/fuzz/$name.log
  mkdir -p "$corpus" "$root/build/fuzz/artifacts"
  local -a inputs=("$corpus") options=()
  [[ -d $kept ]] && inputs+=("$kept")
  [[ -f $root/test/fuzz/$name.dict ]] && options+=("-dict=$root/test/fuzz/$name.dict")
  "$program" "-max_total_time=$seconds" -timeout=20 -rss_limit_mb=2560 -print_final_stats=1 \
    "-artifact_prefix=$root/build/fuzz/artifacts/$name-" "${options[@]}" "${inputs[@]}" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status == 0 ]]; then
    printf '    %-20s %s runs, coverage %s\n' "$name" "$(awk '/number_of_executed_units/ { print $2 }' "$log")" \
      "$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)"
  else
    printf '    %-20s FAILED; its report:\n' "$name"
    grep -aE -A 25 'ERROR|SUMMARY|runtime error|Test unit written' "$log" | head -n 60
    return 1
  fi
}

# fuzz_all SECONDS [NAME]: every fuzzer for so long, as many at once as there are cores.
fuzz_all() {
  local programs
  mapfile -t programs < <(fuzz_programs "${2:-}")
  [[ ${#programs[@]} -gt 0 ]] || { note "no fuzzer matches"; return 1; }
  say "${#programs[@]} fuzzers, $1 seconds each, $(cores) at a time"
  export root
  export -f fuzz_one
  printf '%s\n' "${programs[@]}" | xargs -P "$(cores)" -I PROGRAM bash -c 'fuzz_one "$@"' fuzz "$1" PROGRAM
}

# fuzz_keep [NAME]: adds to the kept corpora, minimised, what earlier runs found.
fuzz_keep() {
  local program name
  for program in $(fuzz_programs "${1:-}"); do
    name=$(basename "$program" _fuzz)
    mkdir -p "$root/test/fuzz/corpus/$name"
    "$program" -merge=1 "$root/test/fuzz/corpus/$name" "$root/build/fuzz/corpus/$name" >/dev/null 2>&1 </dev/null
    note "$name: $(find "$root/test/fuzz/corpus/$name" -type f | wc -l) inputs kept"
  done
}
