#!/usr/bin/env bash
# Builds the project, then judges the shipped cases and random ones on the CPU backend. The last
# thing it prints is a table with one verdict for each property.
#
#   properties/run.sh                      the shipped cases and 500 random ones
#   properties/run.sh --cases 2000         more random ones
#   properties/run.sh --for 10m --seed 7   random ones for ten minutes, with another seed
#   properties/run.sh --preset cpu-asan    as another preset builds it
#
# Arguments go to `mla-testbed run`, whose exit code this is (docs/reference/output.md); 3: packages are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/setup.sh

preset=cpu-release
if [[ ${1-} == --preset ]]; then
  preset=${2?--preset needs a name}
  shift 2
fi
packages=("${mla_judge_packages[@]}")
[[ $preset == cpu-tsan ]] && packages+=("${mla_tsan_packages[@]}")
need_packages "${packages[@]}"
# No test is built here, so that no test's package can be missing; a build folder that has tests
# keeps them.
grep -qs '^MLA_TESTS:.*=ON$' "build/$preset/CMakeCache.txt" || mla_configure=(-DMLA_TESTS=OFF)
build_preset "$preset" --target mla-testbed || exit 3

options=()
for file in fixtures/cases/*.txt; do options+=(--cases-file "$file"); done
case " $* " in
  *" --cases "* | *" --cases="* | *" --for "* | *" --for="*) ;;
  *) options+=(--cases 500) ;;
esac
exec "build/$preset/mla-testbed" run "${options[@]}" "$@"
