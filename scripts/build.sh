#!/usr/bin/env bash
# Builds targets in build/: scripts/build.sh TARGET... A first build compiles the files of a room together
# (TANDEM_UNITY), in half the time; should names of such files clash, it compiles them one by one.
set -eu
cd "$(dirname "$0")/.."
export NINJA_STATUS="${NINJA_STATUS-building: %p, %e s  }"

if [ ! -f build/build.ninja ]; then
  scripts/configure.sh build -DTANDEM_UNITY=ON
fi
ninja -C build "$@" && exit
grep -q TANDEM_UNITY:BOOL=ON build/CMakeCache.txt || exit 1
echo "build: compiling all files one by one (TANDEM_UNITY=OFF), for the errors above may come from files that were compiled together" >&2
cmake -DTANDEM_UNITY=OFF build >/dev/null
ninja -C build "$@"
