#!/usr/bin/env bash
# pip install . in a fresh virtual environment: the package, its library, the command on the PATH,
# the script of docs/use/python.md, manual and completions. The same for the wheel that
# properties/python/wheel.sh makes, whose libgomp lies beside the library.
#
#   install_test.sh SCRATCH
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$1
rm -rf "$scratch" && mkdir -p "$scratch"
unset MLA_TESTBED_LIBRARY PYTHONPATH
page=docs/use/python.md
sed -n '/^## Five lines/,/^## Five minutes/s/^    //p' "$root/$page" >"$scratch/five.py"
[[ $(wc -l <"$scratch/five.py") -eq 5 ]] || { echo "$page has no script of five lines" >&2; exit 1; }

cat >"$scratch/twice.hip" <<'END'
#include <hip/hip_runtime.h>
__global__ void twice(int* a) { a[threadIdx.x] *= 2; }
int main() {
  int value = 21, *there;
  if (hipMalloc(&there, sizeof value) != hipSuccess) return 3;
  hipMemcpy(there, &value, sizeof value, hipMemcpyHostToDevice);
  twice<<<1, 1>>>(there);
  hipMemcpy(&value, there, sizeof value, hipMemcpyDeviceToHost);
  return value;
}
END

# judge ENVIRONMENT: what was installed there
judge() (
  cd "$scratch"
  export PATH=$1/bin:$PATH
  [[ $(python five.py) == $'valid\npass' ]] || { echo "the script of $page failed" >&2; exit 1; }
  [[ $(command -v mla-testbed) == "$1/bin/mla-testbed" ]]
  for text in man/man1/mla-testbed.1 bash-completion/completions/mla-testbed \
    zsh/site-functions/_mla-testbed fish/vendor_completions.d/mla-testbed.fish; do
    [[ -s $1/share/$text ]] || { echo "there is no share/$text" >&2; exit 1; }
  done
  mla-testbed replay 'mla1:1q1s40;cu=4' --backend hip --device emulated:gfx942 --property P12
  # The stand-in for ROCm lies in the package; the system's clang compiles for it.
  rocm=$(mla-testbed rocm --path)
  [[ $rocm == "$1"/lib/python*/site-packages/mla_testbed/rocm ]] || { echo "ROCm is in '$rocm'" >&2; exit 1; }
  "$rocm/bin/hipcc" --offload-arch=gfx942 twice.hip -o twice
  ./twice && code=0 || code=$?
  [[ $code -eq 42 ]] || { echo "the HIP program ended with $code; expected 42" >&2; exit 1; }
  python -c 'import mla_testbed, sys; sys.exit(mla_testbed.version() not in sys.argv[1])' \
    "$(mla-testbed --version)"
)

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet "$root"
judge "$scratch/venv"
wheel=$("$root/properties/python/wheel.sh" "$scratch/wheels" | tail -1)
python3 -m venv "$scratch/other"
"$scratch/other/bin/pip" install --quiet "$wheel"
judge "$scratch/other"
ls "$scratch"/other/lib/python*/site-packages/mla_testbed.libs/libgomp* >/dev/null
echo "$(basename "$wheel")"
