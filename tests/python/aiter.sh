#!/usr/bin/env bash
# AITER's Python, unmodified: its defects, its planners beside the core's, scripts of reports and one
# of its own tests, in a virtual environment with all that it imports.
#
#   tests/python/aiter.sh BUILD [PYTEST_ARGUMENT...]     AITER_SRC names a source tree of AITER
#
# The environment lies in BUILD/venv-aiter and is made once. Exit: 0 all passed, 1 one failed, 10
# skipped: no AITER_SRC, or the environment cannot be made.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$here/environment.sh"
build=$(cd "${1?aiter.sh needs a build directory}" && pwd)
shift
venv=$build/venv-aiter

if [[ ! -d ${AITER_SRC:-/nonexistent}/aiter ]]; then
  echo "skipped: AITER_SRC does not name a source tree of AITER (git clone https://github.com/ROCm/aiter)"
  exit 10
fi
# As docs/use/aiter-on-a-laptop.md says.
packages=(pandas einops psutil pyyaml packaging jinja2 tabulate pybind11 ninja)
environment "$venv" "$(<"$triton_requirements") ${packages[*]}" \
  install_triton "${packages[@]}" || {
  echo "skipped: no virtual environment with Triton: pip install -r $triton_requirements ${packages[*]}"
  exit 10
}

export MLA_TESTBED_COMMAND=$build/mla-testbed
export MLA_TESTBED_LIBRARY=$build/lib/libmla_testbed.so PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$root/properties/python${PYTHONPATH:+:$PYTHONPATH}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$build/triton-cache}
cd "$root"
exec "$venv/bin/python" -m pytest -q --durations=3 -p no:cacheprovider "$@" \
  "$here/aiter_defects_test.py" "$here/aiter_planner_test.py" "$here/aiter_prefill_test.py" \
  "$here/aiter_report_test.py" "$here/aiter_suite_test.py" "$here/aiter_v40_test.py"
