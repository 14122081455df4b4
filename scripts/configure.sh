#!/usr/bin/env bash
# Configures a build tree with the compiler and the LLVM that scripts/setup.sh has installed: scripts/configure.sh FOLDER [-DNAME=VALUE ...]
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
if [ -d /usr/lib/llvm-22/lib/cmake/mlir ]; then
  set -- -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 "$@"
else # Python packages, and the distribution's compiler
  packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  set -- -DCMAKE_C_COMPILER=clang-18 -DCMAKE_CXX_COMPILER=clang++-18 "$@"
  set -- "-DMLIR_DIR=$packages/mlir/lib/cmake/mlir" "-DLLVM_DIR=$packages/llvm/lib/cmake/llvm" "$@"
fi
exec cmake -S . -B "$folder" -G Ninja "$@" >/dev/null
