#!/usr/bin/env bash
# headers_test.sh <build directory> <scratch directory> <compiler>: each installed header alone.
set -euo pipefail
build=$1 prefix=$2/headers compiler=$3
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null
cd "$prefix/include/mla-testbed"
mapfile -t headers < <(find . -name '*.hpp' -printf '%P\n' | sort)
((${#headers[@]})) || { echo "FAILED: no header was installed"; exit 1; }
printf '%s\0' "${headers[@]}" |
  xargs -0 -P 2 -I{} "$compiler" -std=c++20 -fsyntax-only -I. -include {} -x c++ /dev/null
echo "${#headers[@]} headers compile alone"
