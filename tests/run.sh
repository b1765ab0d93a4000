#!/usr/bin/env bash
# Builds the project and runs all of its tests through ctest.
#
#   tests/run.sh                       the tests of preset cpu-release
#   tests/run.sh --preset cpu-asan     of another preset (or PRESET=cpu-asan)
#   tests/run.sh --preset cpu-asan --label core   of it, only the tests labelled core
#   tests/run.sh --level smoke         ten seconds of tests; pull-request: all but style, five
#                                      minutes; nightly: everything there is, two hours
#   tests/run.sh -R planner -V         further arguments go to ctest
#
# Exit: 0 all passed, 1 a test failed or did not build, 3 packages are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/setup.sh

preset=${PRESET:-cpu-release}
if [[ ${1-} == --preset ]]; then
  preset=${2?--preset needs a name}
  shift 2
elif [[ ${1-} == --preset=* ]]; then
  preset=${1#--preset=}
  shift
fi

part=()
level=$preset
if [[ ${1-} == --level ]]; then
  level=${2?--level needs a name: smoke, pull-request or nightly}
  [[ $level == smoke ]] && part=(--target tests_smoke)
  shift 2
elif [[ ${1-} == --label ]]; then
  label=${2?--label needs a name}
  part=(--target "tests_$label")
  shift 2
  set -- -L "^$label\$" "$@"
fi

packages=("${mla_build_packages[@]}" "${mla_style_packages[@]}" "${mla_device_packages[@]}"
          "${mla_capture_packages[@]}" "${mla_python_packages[@]}")
[[ $preset == cpu-tsan ]] && packages+=("${mla_tsan_packages[@]}")
[[ $level == nightly ]] && packages+=("${mla_nightly_packages[@]}")
need_packages "${packages[@]}"
mla_configure=(-DMLA_TESTS=ON)
# Continuous integration has the device compiler: code that it cannot build is an error there, and
# not a skipped test. So is a warning: its compilers are known.
[[ ${CI-} == true ]] && mla_configure+=(-DHIP_BACKEND=ON -DMLA_WERROR=ON)
build_preset "$preset" "${part[@]}" || exit 1
# The tests take as long again as their build. What goes first where a machine is slow is long, and
# also part of a nightly run.
late=()
if [[ -n ${MLA_CI_STARTED-} ]]; then
  built=$(($(date +%s) - MLA_CI_STARTED))
  left_out=()
  ((built > 960)) && left_out+=(python_vllm_smoke python_sglang_smoke python_vllm_e2e
                                  python_sglang_e2e style_lint)
  ((built > 1260)) && left_out+=(python_triton every_query plants estimate_peak)
  ((built > 1560)) && left_out+=(aiter_checked hip_gfx_mutation rocm_programs install_consumer)
  if ((${#left_out[@]})); then
    late=(-E "^($(IFS='|' && echo "${left_out[*]}"))\$")
    echo "left out, since building took $((built / 60)) minutes: ${left_out[*]}" >&2
  fi
fi
ctest --preset "$level" --parallel "$(nproc)" "${late[@]}" "$@" || exit 1
