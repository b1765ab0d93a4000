#!/usr/bin/env bash
# Triton kernels on the emulated GPUs, in a virtual environment of their own: Triton and torch are
# large, and not every reader wants them.
#
#   tests/python/triton_kernels/run.sh BUILD [PYTEST_ARGUMENT...]
#
# The environment lies in BUILD/venv-triton and is made once; compiled kernels stay in
# BUILD/triton-cache. Exit: 0 all passed, 1 one failed, 10 skipped: the environment cannot be made.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$here/../environment.sh"
build=$(cd "${1?run.sh needs a build directory}" && pwd)
shift
venv=$build/venv-triton

environment "$venv" "$(<"$triton_requirements")" install_triton || {
  echo "skipped: no virtual environment with Triton: pip install -r $triton_requirements"
  exit 10
}

export MLA_TESTBED_LIBRARY=$build/lib/libmla_testbed.so PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$root/properties/python${PYTHONPATH:+:$PYTHONPATH}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$build/triton-cache}
cd "$root"
exec "$venv/bin/python" -W ignore::UserWarning -m pytest -q --durations=8 -p no:cacheprovider "$@" "$here"
