#!/usr/bin/env bash
# Every C++ source is formatted as .clang-format says. Exit 1: one is not; 10: no clang-format-19.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/sources.sh"
command -v clang-format-19 >/dev/null || { echo "clang-format-19 is missing" >&2; exit 10; }

mapfile -d '' -t files < <(sources core cpu_backend hip_backend properties tests)
((${#files[@]})) || { echo "found no source to check" >&2; exit 1; }
clang-format-19 --dry-run --Werror "${files[@]}" || exit 1
echo "${#files[@]} sources are formatted"
