# shellcheck shell=bash
# What the scripts share. Sourced by bash, never run; leaves the shell in the
# repository's root with unset variables and failures as errors.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Says what a long script does now; on stderr, so that results stay alone on stdout.
say() { printf '== %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# configure PRESET: brings its build folder up to date; the log appears only if that fails.
configure() {
  local log
  log=$(mktemp)
  if ! cmake --preset "$1" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "configuring the preset $1 failed: see above"
  fi
  rm -f "$log"
}

# build_folder PRESET: where the preset builds.
build_folder() {
  if [ "$1" = release ]; then echo build; else echo "build-$1"; fi
}

# What the compiler needs at its worst is about a gigabyte: no more jobs than memory holds.
jobs_that_fit() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || true)
  gib=${gib:-$cores}
  if [ "$gib" -lt 1 ]; then gib=1; fi
  if [ "$gib" -lt "$cores" ]; then echo "$gib"; else echo "$cores"; fi
}

# build PRESET [OPTION...]: configures and builds, with options of cmake --build; the script ends where that fails.
build() {
  configure "$1"
  cmake --build --preset "$1" -j "$(jobs_that_fit)" "${@:2}" >&2
}
