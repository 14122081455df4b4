#!/usr/bin/env bash
# Formats C++ files by .clang-format and Python files by pyproject.toml; with --check, changes nothing and fails if a file is formatted
# otherwise.
set -u
cd "$(dirname "$0")/.."

list=$(mktemp)
trap 'rm -f "$list"' EXIT
find abi api base bench compiler demo docs emulator examples include interpreter model ops python runtime test tools \
  \( -name '*.cpp' -o -name '*.h' \) -not -path '*/.*' -print0 >"$list"
if [ "${1:-}" = --check ]; then
  xargs -0 -P 2 -n 64 -a "$list" clang-format-22 --dry-run --Werror && .venv/bin/ruff format --no-cache --quiet --check
else
  xargs -0 -P 2 -n 64 -a "$list" clang-format-22 -i && .venv/bin/ruff format --no-cache --quiet
fi
