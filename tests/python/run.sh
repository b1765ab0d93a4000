#!/usr/bin/env bash
# The tests of the Python package against a build, in a virtual environment of their own.
#
#   tests/python/run.sh BUILD [PYTEST_ARGUMENT...]     BUILD holds lib/libmla_testbed.so
#
# The environment lies in BUILD/venv and is made once. Exit: 0 all passed, 1 one failed or a check
# found something, 3 the environment cannot be made.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1?run.sh needs a build directory}" && pwd)
shift
venv=$build/venv
requirements=$here/requirements.txt

if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  rm -rf "$venv"
  { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet -r "$requirements"; } || {
    echo "python: no virtual environment: python3 -m venv and pip install -r $requirements" >&2
    exit 3
  }
  cp "$requirements" "$venv/requirements.txt"
fi
# A large one: without it the tests of AITER's Python say that they need it, and are skipped.
if ! cmp -s "$here/requirements-torch.txt" "$venv/requirements-torch.txt"; then
  if "$venv/bin/pip" install --quiet -r "$here/requirements-torch.txt"; then
    cp "$here/requirements-torch.txt" "$venv/requirements-torch.txt"
  else
    echo "python: no torch; tests that need it are skipped" >&2
  fi
fi

export MLA_TESTBED_LIBRARY=$build/lib/libmla_testbed.so MLA_TESTBED_COMMAND=$build/mla-testbed
export PYTHONPATH=$root/properties/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
cd "$root"
if (($#)); then
  exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
fi
# Not every index has it: without it the workflows are not held to its rules, which is said.
if [[ -x $venv/bin/zizmor ]] || "$venv/bin/pip" install --quiet zizmor==1.32.0; then
  "$venv/bin/zizmor" --offline --no-progress --quiet .github
else
  echo "python: no zizmor: the workflows of .github are not audited" >&2
fi
"$venv/bin/ruff" check --no-cache --config "$here/ruff.toml" properties/python tests/python \
  hip_backend/rocm/hipcc
# numpy's type stubs, of the version that Python 3.12 and later get, are no Python 3.10.
oldest=3.10
"$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' && oldest=3.12
"$venv/bin/mypy" --config-file "$here/mypy.ini" --python-version $oldest --cache-dir "$build/mypy" \
  properties/python/mla_testbed hip_backend/rocm/hipcc
# A test that waits for ever says where, in place of the limit of ctest that says nothing.
"$venv/bin/python" -m pytest -q --durations=8 -p no:cacheprovider -o faulthandler_timeout=500 \
  -o faulthandler_exit_on_timeout=true tests/python
