#!/usr/bin/env bash
# Fifty random cases, half of them for each architecture, on the unmodified builder of an engine.
#
#   tests/python/engines/smoke.sh BUILD vllm|sglang
#   tests/python/engines/smoke.sh BUILD vllm plants    FA, sparse MLA and ranks, and defects planted in vLLM's
#   tests/python/engines/smoke.sh BUILD vllm|sglang e2e    the whole engine serves a scenario
#   tests/python/engines/smoke.sh BUILD vllm|sglang e2e 0.30.0    another release does
#
# Where AITER_SRC names a source tree of AITER, a few cases are attended too. Elsewhere the builder,
# and the whole engine, run on this project's planners (--without-aiter). The environment lies in
# BUILD/venv-smoke-ENGINE, that of another release in BUILD/venv-smoke-ENGINE-VERSION, over the
# torch of BUILD/venv-triton, and is made once. Exit: 0 all passed, 1 a test failed, 2 usage, 10
# skipped: pip cannot install the engine, or plants or another release without AITER_SRC.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$here/../environment.sh"
build=$(cd "${1?smoke.sh needs a build directory}" && pwd)
engine=${2?smoke.sh needs an engine, vllm or sglang}
release=${4-}
if [[ -n $release && ! "$engine $3 $release" =~ ^(vllm|sglang)\ e2e\ [0-9.]+$ ]]; then
  echo "smoke.sh: '$engine $3 $release' is unknown; expected vllm e2e or sglang e2e, and a version" \
    "such as 0.30.0" >&2
  exit 2
fi
base=$build/venv-triton
venv=$build/venv-smoke-$engine${release:+-$release}
requirements=$root/properties/python/mla_testbed/engines/$engine/requirements.txt
tests=("$here/smoke_test.py")
needs_aiter=
if [[ ${3-} == plants ]]; then
  tests=("$here/vllm_fa_test.py" "$here/vllm_sparse_test.py" "$here/vllm_ranks_test.py")
  export MLA_TESTBED_VLLM=$venv
  needs_aiter=1
elif [[ -n $release ]]; then
  tests=("$here/other_release_test.py")
  export MLA_TESTBED_RELEASE=$release
  needs_aiter=1
elif [[ ${3-} == e2e ]]; then
  tests=("$here/${engine}_e2e_test.py")
  [[ -d ${AITER_SRC:-/nonexistent}/aiter ]] || tests=("$here/whole_test.py")
fi
if [[ -n $needs_aiter && ! -d ${AITER_SRC:-/nonexistent}/aiter ]]; then
  echo "skipped: AITER_SRC does not name a source tree of AITER (git clone https://github.com/ROCm/aiter)"
  exit 10
fi
aiter=()  # what AITER's Python imports beside what an engine does
[[ -n ${AITER_SRC-} ]] && aiter=(pandas)

# vllm: nothing is compiled. With "+empty" in its version, pip would take it for another one.
engine_vllm() {
  local version=${release:-0.33.0}
  VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=$version \
    "$@" --no-binary vllm --no-build-isolation "vllm==$version"
}
engine_sglang() {
  "$@" "sglang==${release:-0.5.19}"
}
install_engine() {
  local site pip=(timeout 900 "$1/bin/pip" install -qq --no-compile)
  site=$(echo "$1"/lib/python3*/site-packages)
  echo "$base"/lib/python3*/site-packages > "$site/base.pth"
  "${pip[@]}" -r "$requirements" "${aiter[@]}" && "engine_$engine" "${pip[@]}" --no-deps || return 1
  # The package's entry points, which a PYTHONPATH does not have: Triton looks for its backend there.
  mkdir "$site/mla_testbed-0.dist-info"
  printf 'Metadata-Version: 2.1\nName: mla-testbed\nVersion: 0\n' \
    > "$site/mla_testbed-0.dist-info/METADATA"
  printf '[triton.backends]\nmla_testbed = mla_testbed.triton\n' \
    > "$site/mla_testbed-0.dist-info/entry_points.txt"
}

environment "$base" "$(<"$triton_requirements")" install_triton || {
  echo "skipped: no virtual environment with Triton: pip install -r $triton_requirements"
  exit 10
}
environment "$venv" "$(cat "$triton_requirements" "$requirements" "${BASH_SOURCE[0]}")${aiter[*]}$release" \
  install_engine || {
  echo "skipped: pip cannot install $engine and $requirements"
  exit 10
}

more=$(dirname "$requirements")/requirements-e2e.txt
if [[ ${3-} == e2e && -f $more ]] && ! cmp -s "$more" "$venv/e2e"; then
  timeout 900 "$venv/bin/pip" install -qq --no-compile --no-deps -r "$more" || {
    echo "skipped: pip cannot install $more"
    exit 10
  }
  cp "$more" "$venv/e2e"
fi
export MLA_TESTBED_LIBRARY=$build/lib/libmla_testbed.so PYTHONPYCACHEPREFIX=$build/pycache
export PYTHONPATH=$root/properties/python${PYTHONPATH:+:$PYTHONPATH}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$build/triton-cache} MLA_TESTBED_SMOKE=$engine
cd "$root"
exec "$venv/bin/python" -m pytest -q --durations=3 -p no:cacheprovider "${tests[@]}"
