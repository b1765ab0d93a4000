#!/usr/bin/env bash
# libmla_testbed.so shows the functions of its headers and nothing else, and holds no command line.
#
#   exports_test.sh LIBRARY
set -euo pipefail
interface=$(dirname "${BASH_SOURCE[0]}")/../../../properties/c_api
headers=("$interface"/*.h "$interface"/*/*.h)
shown=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
declared=$(grep -ohE '^MLA_TESTBED_API[^(]*\(' "${headers[@]}" | grep -oE '\w+\($' | tr -d '(' | sort)
[[ -n $declared ]] || { echo "found no declaration in ${headers[*]}" >&2; exit 1; }
diff <(echo "$declared") <(echo "$shown") || {
  echo "declared in the headers (<) and shown by the library (>) differ" >&2
  exit 1
}
if (($(nm -C "$1" | grep -cF CLI::))); then
  echo "the library holds CLI11: does it link properties/cli?" >&2
  exit 1
fi
echo "$(wc -l <<<"$shown") functions, all declared"
