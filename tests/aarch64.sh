#!/usr/bin/env bash
# Builds the command for aarch64 with a cross-compiler, and judges a smoke list under qemu.
#
#   tests/aarch64.sh              build in build/aarch64, then the smoke list
#   tests/aarch64.sh --compile    core and the CPU backend, nothing is run: for pull requests
#
# Needs Debian's g++-aarch64-linux-gnu and qemu-user, the libraries of an ordinary build, and curl:
# RapidCheck is the one library that is compiled, and its package for arm64 is unpacked in the build.
# MLA_MIRROR names another archive. Device code is left out: it is the same on every machine.
# Exit: 0 the list held, 1 it did not or did not build, 2 usage, 3 something is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=${1-}
[[ -z $mode || $mode == --compile ]] || { echo "usage: tests/aarch64.sh [--compile]" >&2; exit 2; }
for tool in aarch64-linux-gnu-g++ qemu-aarch64 cmake ninja curl dpkg; do
  command -v "$tool" >/dev/null || {
    echo "aarch64: there is no '$tool'; Debian's packages are g++-aarch64-linux-gnu, qemu-user, cmake," \
      "ninja-build, curl and dpkg" >&2
    exit 3
  }
done

build=$PWD/build/aarch64
mirror=${MLA_MIRROR-http://deb.debian.org/debian}
host=x86_64-linux-gnu
cross=aarch64-linux-gnu
rapidcheck=$build/arm64/usr/lib/$cross/cmake/rapidcheck
if [[ ! -d $rapidcheck ]]; then
  file=$(apt-cache show librapidcheck-dev | sed -n 's/^Filename: //p' | head -1)
  mkdir -p "$build/arm64"
  curl -sfL "$mirror/${file/_amd64/_arm64}" -o "$build/rapidcheck.deb" || {
    echo "aarch64: $mirror/${file/_amd64/_arm64} cannot be fetched" >&2
    exit 3
  }
  dpkg -x "$build/rapidcheck.deb" "$build/arm64"
fi

# xtensor has headers alone; Debian puts its configuration beside those of one architecture.
cmake -S . -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=$cross-g++ -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DMLA_DEPS=system -DMLA_TESTS=OFF -DHIP_BACKEND=OFF -Drapidcheck_DIR="$rapidcheck" \
  -Dxtensor_DIR=/usr/lib/$host/cmake/xtensor >&2 || exit 1
if [[ $mode == --compile ]]; then
  cmake --build "$build" --target mla_core mla_cpu >&2 || exit 1
  echo "aarch64: core and the CPU backend compile"
  exit
fi
cmake --build "$build" --target mla-testbed >&2 || exit 1
testbed=(qemu-aarch64 -L /usr/$cross "$build/mla-testbed")
"${testbed[@]}" env
"${testbed[@]}" run --cases-file fixtures/cases/smoke.txt --property P05,P12 --no-progress || exit 1
# The judge can fail there, too.
code=0
"${testbed[@]}" replay 'mla1:2q4s40;heads=8' --property P12 --plant SEED-qo-arange >/dev/null ||
  code=$?
[[ $code -eq 1 ]] || { echo "aarch64: a planted defect ended with $code, expected 1" >&2; exit 1; }
echo "aarch64: the smoke list held"
