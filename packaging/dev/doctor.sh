# ./dev doctor: is this machine ready, and what is it?
# shellcheck shell=bash disable=SC2154

# version_of COMMAND: first line of its version, or "missing".
version_of() {
  if command -v "$1" >/dev/null; then "$1" --version 2>/dev/null | head -n 1; else echo missing; fi
}

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

doctor() {
  local problems=0 missing group port tool
  say "The machine"
  # shellcheck disable=SC1091
  note "system   $(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-unknown}"), kernel $(uname -r)"
  note "cores    $(cores)"
  note "memory   $(awk '/MemTotal/ { t = $2 } /MemAvailable/ { a = $2 } END { printf "%.1f GiB, %.1f available", t / 1048576, a / 1048576 }' /proc/meminfo)"
  note "disk     $(df -Ph "$root" | awk 'NR == 2 { print $4 " free on " $6 }')"
  if [[ $(df -Pk "$root" | awk 'NR == 2 { print $4 }') -lt 6291456 ]]; then
    note "!        a full build with tests and fuzzers takes about 6 GiB"; problems=$((problems + 1))
  fi
  say "Tools"
  for tool in g++ clang++ cmake ninja ccache mold capnp python3 node npm; do
    note "$(printf '%-8s' "$tool") $(version_of "$tool")"
  done
  say "Debian packages"
  for group in build run test functional browser fuzz bench lint package; do
    mapfile -t missing < <(missing_packages "$group")
    if [[ ${#missing[@]} == 0 ]]; then note "$(printf '%-8s' "$group") complete"
    else
      note "$(printf '%-8s' "$group") missing: ${missing[*]}   (./dev deps $group)"
      [[ $group == build ]] && problems=$((problems + 1))
    fi
  done
  say "Ports"
  for port in 27017 27080; do
    if port_is_free "$port"; then note "$port    free"; else note "$port    in use: choose another with --port or --admin-port"; fi
  done
  if [[ $problems == 0 ]]; then say "Ready."; else say "$problems problem(s) above."; return 1; fi
}
