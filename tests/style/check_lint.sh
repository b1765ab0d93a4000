#!/usr/bin/env bash
# clang-tidy finds nothing in the core and the CPU backend.
#
#   check_lint.sh <build directory>   with a compile_commands.json
#
# Exit 1: there is a finding; 10: no clang-tidy-19.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/sources.sh"
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing" >&2; exit 10; }

mapfile -d '' -t files < <(sources core cpu_backend | grep -z '\.cpp$')
((${#files[@]})) || { echo "found no source to check" >&2; exit 1; }
# The compile commands are GCC's: clang does not know each of its warnings.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy-19 -p "$1" --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option \
    2> >(grep -vE '^[0-9]+ warnings? (generated|treated)|^\[[0-9]+/[0-9]+\] Processing' >&2) || exit 1
echo "${#files[@]} sources are clean"
