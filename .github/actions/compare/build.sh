#!/usr/bin/env bash
# Builds the command and the library of this action's own checkout, and a Python that AITER's JIT, or
# the engine that COMPARE_ENGINE names, runs in; MLA_TESTBED_PYTHON names it to the steps that follow.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. tests/setup.sh
mla_configure=(-DMLA_TESTS=OFF -DHIP_BACKEND=ON)
need_packages "${mla_judge_packages[@]}" "${mla_device_packages[@]}" "${mla_python_packages[@]}"
build_preset cpu-release
engine=${COMPARE_ENGINE-}
venv=$PWD/build/venv-${engine:-aiter}
python3 -m venv "$venv"
pip=("$venv/bin/pip" install --quiet)
library=$PWD/build/cpu-release/lib/libmla_testbed.so
if [[ ! $engine ]]; then
  # As docs/use/aiter-on-a-laptop.md says.
  "${pip[@]}" -r tests/python/triton_kernels/requirements.txt pandas einops psutil \
    pyyaml packaging jinja2 tabulate pybind11 ninja
else
  # As docs/use/engines.md says. Of the engine that is installed its packages count, and what it
  # generates; the package that is judged is each commit's own.
  "${pip[@]}" -r tests/python/triton_kernels/requirements.txt pandas einops psutil pyyaml packaging jinja2
  "${pip[@]}" -r "properties/python/mla_testbed/engines/$engine/requirements.txt"
  case $engine in
    vllm)
      VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=0.33.0 \
        "${pip[@]}" --no-deps --no-binary vllm --no-build-isolation vllm==0.33.0 ;;
    sglang) "${pip[@]}" --no-deps sglang==0.5.19 ;;
  esac
  # The entry points of the package, which a PYTHONPATH does not have: Triton's backend.
  info=$(echo "$venv"/lib/python3*/site-packages)/mla_testbed-0.dist-info
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: mla-testbed\nVersion: 0\n' >"$info/METADATA"
  printf '[triton.backends]\nmla_testbed = mla_testbed.triton\n' >"$info/entry_points.txt"
  printf '#!/usr/bin/env bash\nexec "%s" -m mla_testbed.engines "$@"\n' "$venv/bin/python" \
    >build/cpu-release/mla-testbed-engines
  chmod +x build/cpu-release/mla-testbed-engines
fi
{
  echo "MLA_TESTBED_PYTHON=$venv/bin/python"
  echo "MLA_TESTBED_LIBRARY=$library"
  echo "PYTHONPATH=$PWD/properties/python${PYTHONPATH:+:$PYTHONPATH}"
} >>"${GITHUB_ENV:-/dev/stdout}"
