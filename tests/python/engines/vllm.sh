#!/usr/bin/env bash
# Installs vLLM, unmodified, and runs the judge over its metadata builders: decode and prefill.
#
#   tests/python/engines/vllm.sh BUILD [VERSION]     AITER_SRC names a source tree of AITER
#
# The environment lies in BUILD/venv-vllm-VERSION and is made once (2 GB). Exit: 0 all passed, 1 a
# test failed, 10 skipped: no AITER_SRC, or pip cannot install it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "${1?vllm.sh needs a build directory}" && pwd)
version=${2:-0.27.1}
venv=$build/venv-vllm-$version

if [[ ! -d ${AITER_SRC:-/nonexistent}/aiter ]]; then
  echo "skipped: AITER_SRC does not name a source tree of AITER (git clone https://github.com/ROCm/aiter)"
  exit 10
fi
install() {
  local pip="$venv/bin/pip install --quiet"
  rm -rf "$venv"
  python3 -m venv "$venv"
  $pip -r "$here/../triton_kernels/requirements.txt" pandas einops psutil pyyaml packaging jinja2
  $pip 'setuptools>=77,<81' setuptools_rust 'setuptools_scm>=8' wheel cmake ninja
  # Nothing is compiled. With "+empty" in its version, pip would take it for another one.
  VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=$version \
    $pip --no-binary vllm --no-build-isolation "vllm==$version"
}
if [[ ! -e $venv/complete ]]; then
  install || { echo "skipped: pip cannot install vLLM $version"; exit 10; }
  # The package's entry points, which a PYTHONPATH does not have: Triton looks for its backend there.
  info=$(echo "$venv"/lib/python3*/site-packages)/mla_testbed-0.dist-info
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: mla-testbed\nVersion: 0\n' > "$info/METADATA"
  printf '[triton.backends]\nmla_testbed = mla_testbed.triton\n' > "$info/entry_points.txt"
  touch "$venv/complete"
fi

export MLA_TESTBED_LIBRARY=$build/lib/libmla_testbed.so PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$root/properties/python${PYTHONPATH:+:$PYTHONPATH}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$build/triton-cache} MLA_TESTBED_VLLM=$venv
cd "$root"
exec "$venv/bin/python" -m pytest -q --durations=3 -p no:cacheprovider \
  "$here/vllm_test.py" "$here/prefill_engines_test.py"
