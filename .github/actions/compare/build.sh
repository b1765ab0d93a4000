#!/usr/bin/env bash
# Builds the command and the library of this action's own checkout, and a Python that AITER's JIT
# runs in; MLA_TESTBED_PYTHON names it to the steps that follow.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. tests/setup.sh
mla_configure=(-DMLA_TESTS=OFF -DHIP_BACKEND=ON)
need_packages "${mla_judge_packages[@]}" "${mla_device_packages[@]}" "${mla_python_packages[@]}"
build_preset cpu-release
venv=$PWD/build/venv-aiter
python3 -m venv "$venv"
# As docs/use/aiter-on-a-laptop.md says.
"$venv/bin/pip" install --quiet -r tests/python/triton_kernels/requirements.txt pandas einops psutil \
  pyyaml packaging jinja2 tabulate pybind11 ninja
{
  echo "MLA_TESTBED_PYTHON=$venv/bin/python"
  echo "MLA_TESTBED_LIBRARY=$PWD/build/cpu-release/lib/libmla_testbed.so"
  echo "PYTHONPATH=$PWD/properties/python${PYTHONPATH:+:$PYTHONPATH}"
} >>"${GITHUB_ENV:-/dev/stdout}"
