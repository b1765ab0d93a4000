#!/usr/bin/env bash
# Builds the command of this action's own checkout, with the packages that it needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. tests/setup.sh
need_packages "${mla_judge_packages[@]}"
mla_configure=(-DMLA_TESTS=OFF)
build_preset cpu-release --target mla-testbed
