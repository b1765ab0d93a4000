#!/usr/bin/env bash
# install_test.sh <build directory> <scratch directory> <compiler>
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 scratch=$2 compiler=$3
rm -rf "$scratch/prefix" "$scratch/consumer" "$scratch/core_only" "$scratch/refused"
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null

configure() { # <project> <build directory> <further options>
  cmake -G Ninja -S "$here/$1" -B "$scratch/$2" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$scratch/prefix" "${@:3}"
}

# The consumer sees the installed tree only: no header may name a file that was left behind.
configure consumer consumer
cmake --build "$scratch/consumer"
"$scratch/consumer/consumer"
"$scratch/prefix/bin/mla-testbed" --version

# The core needs the standard library only: here nothing else can be found.
bare=(-DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON
      -DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON)
configure core_only core_only "${bare[@]}"
cmake --build "$scratch/core_only"
"$scratch/core_only/core_only"

refused() { # <components> <what CMake says, in one line>
  local said
  if said=$(configure core_only refused --fresh "${bare[@]}" -DWANTED="$1" 2>&1); then
    echo "FAILED: components $1 were found"
    exit 1
  fi
  grep -qF -- "$2" <<<"$(tr -s ' \n' ' ' <<<"$said")" || {
    echo "FAILED: components $1: expected '$2' in: $said"
    exit 1
  }
}
refused gpu "MlaTestbed has no component 'gpu'; its components are core, cpu, gfx, hip, properties."
refused cpu "dependency OpenMP could not be found"
refused hip "dependency OpenMP could not be found"
refused properties "dependency rapidcheck could not be found"
echo "the consumers build; what is missing is named"
