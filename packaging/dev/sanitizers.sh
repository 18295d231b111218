# Sourced by test.sh: tests of programs that were built with a sanitizer.
# shellcheck shell=bash disable=SC2154

# Sanitized servers start and answer several times slower: the factor of every deadline in the integration tests.
readonly kSanitizedSlowness=5
readonly kSanitizedKills=8

# sanitized NAME FUNCTION [ARG...]: runs it. What any process reports meanwhile, also one that is killed later, lands in
# build/test-results/NAME-reports, is shown, and fails the step.
sanitized() {
  local reports=$results/$1-reports status=0 report
  local -a found=()
  shift
  rm -rf "$reports"
  mkdir -p "$reports"
  # What is the same for every run stands in test/sanitizer_options.cpp.
  local options="log_path='$reports/report':log_exe_name=1"
  export ASAN_OPTIONS=$options UBSAN_OPTIONS=$options LSAN_OPTIONS=$options TSAN_OPTIONS=$options
  export TROUPE_TEST_SLOWNESS=$kSanitizedSlowness TROUPE_TEST_KILLS=$kSanitizedKills
  "$@" || status=$?
  mapfile -t found < <(find "$reports" -type f -size +0 | sort)
  note "${#found[@]} processes with reports of the sanitizer"
  for report in "${found[@]:0:5}"; do
    say "${report#"$root/"}"
    head -n 80 "$report"
  done
  [[ ${#found[@]} == 0 ]] || status=1
  return "$status"
}

# sanitizer_steps PRESET: its build, the unit tests and the integration tests.
sanitizer_steps() {
  step "$1-build" build "$1"
  if [[ $verdict == FAILED ]]; then return 0; fi
  step "$1-unit" sanitized "$1-unit" unit_tests "$1-unit" "$1"
  step "$1-integration" sanitized "$1-integration" integration_tests "$1-integration" "$1"
}
