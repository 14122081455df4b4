#!/usr/bin/env bash
# Builds targets of the library in build/: scripts/build.sh TARGET... A first build compiles the files of a room together
# (TANDEM_UNITY), in half the time; should names of such files clash, it compiles them one by one.
set -eu
cd "$(dirname "$0")/.."
export NINJA_STATUS="${NINJA_STATUS-building: %p, %e s  }"

if [ ! -f build/build.ninja ]; then
  cmake -S . -B build -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DTANDEM_UNITY=ON >/dev/null
fi
ninja -C build "$@" && exit
grep -q TANDEM_UNITY:BOOL=ON build/CMakeCache.txt || exit 1
echo "build: compiling all files one by one (TANDEM_UNITY=OFF), for the errors above may come from files that were compiled together" >&2
cmake -DTANDEM_UNITY=OFF build >/dev/null
ninja -C build "$@"
