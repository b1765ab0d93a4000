#!/usr/bin/env bash
# clang-tidy finds nothing in the folders that are named.
#
#   check_lint.sh <build directory> core cpu_backend   with a compile_commands.json
#
# Exit 1: there is a finding; 10: no clang-tidy-19.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/sources.sh"
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing" >&2; exit 10; }

# What this build does not compile has no command to read.
export LC_ALL=C
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
python3 tests/style/single_commands.py "$1" "$commands"
compiled() { sed -n "s|^ *\"file\": \"$PWD/\(.*\)\",\{0,1\}\$|\1|p" "$commands/compile_commands.json" | sort -u; }
mapfile -t files < <(comm -12 <(compiled) <(sources "${@:2}" | tr '\0' '\n' | grep '\.cpp$' | sort))
((${#files[@]})) || { echo "found no source to check" >&2; exit 1; }
# The compile commands are GCC's: clang does not know each of its warnings and attributes, and finds
# what GCC's own headers use deprecated.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy-19 -p "$commands" --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-attributes \
    --extra-arg=-Wno-deprecated-declarations \
    2> >(grep -vE '^[0-9]+ warnings? (generated|treated)|^\[[0-9]+/[0-9]+\] Processing' >&2) || exit 1
echo "${#files[@]} sources are clean"
