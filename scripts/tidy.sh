#!/usr/bin/env bash
# Runs clang-tidy-22 by the rules of .clang-tidy, some seconds a file, on C++ files of a tree that has been built: those that are named, all
# with --all (about twenty minutes on two cores), else at most 40 of those that differ from the commit before the last. Status 77: nothing to
# compare with, or no such files.
set -u
cd "$(dirname "$0")/.."

most=40
if [ "${1:-}" = --all ]; then
  files=$(git ls-files '*.cpp')
elif [ $# -gt 0 ]; then
  files=$(printf '%s\n' "$@")
else
  git rev-parse --quiet --verify HEAD~1 >/dev/null 2>&1 || { echo "tidy: no commit before the last one to compare with"; exit 77; }
  files=$(git diff --name-only --diff-filter=d HEAD~1 -- '*.cpp')
  [ "$(printf '%s\n' "$files" | wc -l)" -le $most ] || echo "tidy: the first $most of the files that differ"
  files=$(printf '%s\n' "$files" | head -$most)
fi
# Where files are compiled together they have no commands of their own: those of a tree that compiles them one by one, in this one's folders.
commands=build
if grep -q TANDEM_UNITY:BOOL=ON build/CMakeCache.txt; then
  commands=build/tidy
  scripts/configure.sh $commands -DTANDEM_UNITY=OFF
  sed -i "s|$PWD/$commands|$PWD/build|g" $commands/compile_commands.json
fi
# What is not part of this build has no command to check it by.
files=$(printf '%s\n' "$files" | while read -r f; do [ -n "$f" ] && grep -q "\"file\": \"$PWD/$f\"" $commands/compile_commands.json && echo "$f"; done)
[ -n "$files" ] || { echo "tidy: no C++ files differ"; exit 77; }
printf '%s\n' "$files" | xargs -P 2 -n 1 clang-tidy-22 -p $commands --quiet 2>&1 | grep -v 'warnings\? generated\.$'
exit "${PIPESTATUS[1]}"
