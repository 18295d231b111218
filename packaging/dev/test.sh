# Sourced by ./dev: `./dev test` as a list of steps with a summary at the end.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
source "$root/packaging/dev/conformance.sh"
# shellcheck source=/dev/null
source "$root/packaging/dev/sanitizers.sh"

readonly kSkipped=77
readonly kFuzzBudgetSeconds=120  # for all fuzzers together, as many at once as there are cores

# chosen STEP: whether --only lets it run. `--only asan` means asan-build, asan-unit and asan-integration.
chosen() { [[ -z $only || ",$only," == *",$1,"* || ",$only," == *",${1%%-*},"* ]]; }

# step NAME FUNCTION [ARG...]: runs it, keeps its output in build/test-results/NAME.log, and notes time and counts.
# Sets `verdict`; call it plainly, not in a condition, for there `set -e` would not hold within the step.
# The function may leave "passed failed" in build/test-results/NAME.counts; else the step counts as one test.
step() {
  local name=$1 status passed=0 failed=0 started=$SECONDS
  shift
  verdict=ok
  if ! chosen "$name"; then return 0; fi
  say "$name"
  rm -f "$results/$name.counts"
  set +e
  (set -e; "$@") 2>&1 </dev/null | tee "$results/$name.log"
  status=${PIPESTATUS[0]}
  set -e
  if [[ $status == "$kSkipped" ]]; then
    verdict=skipped
  else
    if [[ -f $results/$name.counts ]]; then read -r passed failed <"$results/$name.counts"
    elif [[ $status == 0 ]]; then passed=1; fi
    if [[ $status != 0 && $failed == 0 ]]; then failed=1; fi
    if [[ $failed != 0 ]]; then verdict=FAILED; failed_steps+=("$name"); fi
  fi
  rows+=("$(printf '%-17s %-8s %7d %7d %5d:%02d' "$name" "$verdict" "$passed" "$failed" \
    $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)))")
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
}

# counts_of_last_line NAME: takes "N passed, M failed" from the log of a step that prints it.
counts_of_last_line() {
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$results/$1.log" | tail -n 1 >"$results/$1.counts"
  [[ -s $results/$1.counts ]] || rm -f "$results/$1.counts"
}

# unit_tests NAME PRESET: every unit test program; counts single tests from GoogleTest's reports.
unit_tests() {
  local name=$1 dir reports=$results/$1 status=0
  dir=$(build_dir "$2")
  rm -rf "$reports"
  mkdir -p "$reports"
  GTEST_OUTPUT=json:$reports/ GTEST_FILTER="*${filter:+$filter*}" GTEST_BRIEF=1 \
    ctest --test-dir "$dir" -L unit -j "$(cores)" --output-on-failure --no-tests=error || status=$?
  python3 - "$reports" >"$results/$name.counts" <<'PYTHON'
import json, pathlib, sys
tests = failures = 0
for report in pathlib.Path(sys.argv[1]).glob("*.json"):
    content = json.loads(report.read_text())
    tests += content["tests"] - content.get("disabled", 0)
    failures += content["failures"] + content.get("errors", 0)
print(tests - failures, failures)
PYTHON
  read -r passed failed <"$results/$name.counts"
  note "$passed passed, $failed failed"
  if [[ $((passed + failed)) == 0 ]]; then note "no test ran"; return 1; fi
  return "$status"
}

tidy_tests() {
  local status=0
  python3 test/tidy/tidy.py --self-test --build build || status=$?
  counts_of_last_line tidy
  return "$status"
}

# singly_tests: each source and header of the rooms by itself, with another compiler than the build's.
singly_tests() {
  local status=0
  python3 test/tidy/singly.py --build build || status=$?
  counts_of_last_line singly
  return "$status"
}

fuzz_tests() {
  local programs rounds seconds
  ensure fuzz
  build fuzz fuzzers
  mapfile -t programs < <(fuzz_programs "$filter")
  [[ ${#programs[@]} -gt 0 ]] || return "$kSkipped"
  rounds=$(((${#programs[@]} + $(cores) - 1) / $(cores)))
  seconds=$((kFuzzBudgetSeconds / rounds))
  [[ $seconds -le 60 ]] || seconds=60
  fuzz_all "$seconds" "$filter"
  echo "${#programs[@]} 0" >"$results/fuzz.counts"
}

# integration_tests NAME PRESET: real processes and drivers (test/integration/run.sh).
integration_tests() {
  local status=0
  [[ -x test/integration/run.sh ]] || return "$kSkipped"
  TROUPE_BIN="$(build_dir "$2")/bin" timeout 2400 test/integration/run.sh ${filter:+--filter "$filter"} || status=$?
  counts_of_last_line "$1"
  return "$status"
}

# said_of_failures NAME: what a step's log says of failures, for those that see the end of a run only.
said_of_failures() {
  local log=$results/$1.log
  [[ -f $log ]] || return 0
  if grep -q '^what failed:' "$log"; then
    sed -n '/^what failed:/,$p' "$log" | head -n 80
  else
    grep -nE 'FAILED|FAIL |[Ee]rror:|Failure|violat|finding' "$log" | tail -n 40
  fi
}

summary() {
  local name
  for name in "${failed_steps[@]}"; do
    printf '\n%s said:\n' "$name"
    said_of_failures "$name" || true
  done
  if chosen integration && [[ -f $results/integration.log ]]; then grep -h '^unsteady' "$results/integration.log" || true; fi
  printf '\n%-17s %-8s %7s %7s %8s\n' step result passed failed time
  printf '%s\n' "${rows[@]}"
  printf '\n%d passed, %d failed\n' "$total_passed" "$total_failed"
  [[ $total_failed == 0 && $total_passed -gt 0 ]]
}

test_all() {
  local full=no filter='' only='' results=$root/build/test-results
  local -a rows=() failed_steps=()
  local total_passed=0 total_failed=0 verdict=ok
  while [[ $# -gt 0 ]]; do
    case $1 in
      --full) full=yes ;;
      --filter) filter=${2:?--filter needs a text}; shift ;;
      --only) only=${2:?--only needs a step}; shift ;;
      *) fail "test: no such option: $1" ;;
    esac
    shift
  done
  ensure build run test
  mkdir -p "$results"
  step build build release
  if [[ $verdict == FAILED ]]; then summary; return 1; fi
  step unit unit_tests unit release
  if [[ -z $filter ]]; then
    step tidy tidy_tests
    step singly singly_tests
  fi
  if [[ -z $filter || -n $only ]]; then step fuzz fuzz_tests; fi
  step integration integration_tests integration release
  if [[ -z $filter ]]; then
    step conformance conformance_tests
    step functional functional_tests
  fi
  if [[ $full == yes || $only == *asan* || $only == *tsan* ]]; then
    sanitizer_steps asan
    sanitizer_steps tsan
  fi
  summary
}
