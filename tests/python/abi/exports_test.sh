#!/usr/bin/env bash
# libmla_testbed.so shows the functions of its headers and nothing else.
#
#   exports_test.sh LIBRARY
set -euo pipefail
abi=$(dirname "${BASH_SOURCE[0]}")/../../../properties/python/abi
headers=("$abi"/*.h "$abi"/*/*.h)
shown=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
declared=$(grep -ohE '^MLA_TESTBED_API[^(]*\(' "${headers[@]}" | grep -oE '\w+\($' | tr -d '(' | sort)
[[ -n $declared ]] || { echo "found no declaration in ${headers[*]}" >&2; exit 1; }
diff <(echo "$declared") <(echo "$shown") || {
  echo "declared in the headers (<) and shown by the library (>) differ" >&2
  exit 1
}
echo "$(wc -l <<<"$shown") functions, all declared"
