#!/usr/bin/env bash
# Builds the command of this action's own checkout, with the packages that it needs. AITER's kernels
# (JUDGE_AITER) need this project's reduce kernel beside them, and so a clang for device code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. tests/setup.sh
packages=("${mla_judge_packages[@]}")
mla_configure=(-DMLA_TESTS=OFF)
if [[ ${JUDGE_AITER-} ]]; then
  packages+=("${mla_device_packages[@]}")
  mla_configure+=(-DHIP_BACKEND=ON)
fi
need_packages "${packages[@]}"
build_preset cpu-release --target mla-testbed
