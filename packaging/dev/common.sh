# Sourced by ./dev and its helpers: messages, privileges, packages, build.
# shellcheck shell=bash disable=SC2154

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
fail() { printf 'dev: %s\n' "$*" >&2; exit 1; }

cores() { nproc 2>/dev/null || echo 2; }

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "needs root to run '$*': run it as root, or install sudo"; fi
}

# packages_of GROUP...: "package command" lines of these groups.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2, $3 }' "$root/packaging/debian-packages.txt"
  done | sort -u
}

# missing_packages GROUP...: the packages that are not there yet.
missing_packages() {
  local package command installed
  installed=$(dpkg-query -W -f '${Package} ${Status}\n' 2>/dev/null | awk '/ ok installed$/ { print $1 }')
  packages_of "$@" | while read -r package command; do
    [[ -n $command ]] && command -v "$command" >/dev/null && continue
    grep -qxF -- "$package" <<<"$installed" || echo "$package"
  done
}

# ensure GROUP...: installs what is missing; quick when nothing is.
ensure() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} == 0 ]] && return 0
  command -v apt-get >/dev/null || fail "needs Debian packages and there is no apt-get: ${missing[*]}"
  say "Installing ${#missing[@]} Debian packages ($*): ${missing[*]}"
  as_root apt-get update -q -o Acquire::Retries=3 || note "apt-get update failed; trying with the lists at hand"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    --no-install-recommends "${missing[@]}" </dev/null || fail "could not install: ${missing[*]}"
}

# build_dir PRESET: where that preset builds.
build_dir() { if [[ $1 == release ]]; then echo "$root/build"; else echo "$root/build/$1"; fi; }

# build PRESET [-Dkey=value...] [target...]: configures when needed and builds.
build() {
  local preset=$1 dir argument
  local -a definitions=() targets=()
  shift
  for argument in "$@"; do
    if [[ $argument == -D* ]]; then definitions+=("$argument"); else targets+=("$argument"); fi
  done
  dir=$(build_dir "$preset")
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1
  if [[ ! -f $dir/build.ninja || ${#definitions[@]} -gt 0 ]]; then
    (cd "$root" && cmake --preset "$preset" "${definitions[@]}") || fail "cmake could not configure the preset '$preset'"
  fi
  # Linking many static programs at once is what needs memory: keep a GiB for each job.
  local memory jobs
  memory=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  jobs=$(cores)
  [[ $memory -ge 1 && $memory -lt $jobs ]] && jobs=$memory
  NINJA_STATUS='[%f/%t %es] ' cmake --build "$dir" -j "$jobs" ${targets[0]:+--target "${targets[@]}"} </dev/null
}
