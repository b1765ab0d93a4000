#!/usr/bin/env bash
# install_test.sh <build directory> <scratch directory> <compiler>
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 scratch=$2 compiler=$3
rm -rf "$scratch/prefix" "$scratch/consumer" "$scratch/core_only" "$scratch/refused" \
  "$scratch/hip_program"
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null

configure() { # <project> <build directory> <further options>
  cmake -G Ninja -S "$here/$1" -B "$scratch/$2" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$scratch/prefix" "${@:3}"
}

# The consumer sees the installed tree only: no header may name a file that was not installed.
configure consumer consumer
cmake --build "$scratch/consumer"
"$scratch/consumer/consumer"
"$scratch/prefix/bin/mla-testbed" --version

# All installed headers compile, and none is a library's own. headers_test.sh takes each alone.
(
  cd "$scratch/prefix/include/mla-testbed"
  if grep -rlzE 'Private(\s+//)?\s+to\b' .; then
    echo "FAILED: private headers were installed"
    exit 1
  fi
  find . -name '*.hpp' -printf '#include "%P"\n' | sort |
    "$compiler" -std=c++20 -fsyntax-only -I. -x c++ -
)

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
known="core, cpu, gfx, hip_runtime, hip, properties"
refused gpu "MlaTestbed has no component 'gpu'; its components are $known."
refused cpu "dependency OpenMP could not be found"
refused hip "dependency OpenMP could not be found"
refused properties "dependency rapidcheck could not be found"

# A HIP program in one file, with a stray access when it is asked for one.
if [[ -n ${MLA_DEVICE_CODE-} ]]; then
  configure hip_program hip_program
  cmake --build "$scratch/hip_program"
  program=$scratch/hip_program/saxpy_gfx
  [[ $("${program}942") == "right on emulated MI300X" ]]
  [[ $(MLA_HIP_CHECKS=1 "${program}950" 2>&1) == "right on emulated MI355X" ]]
  said() { # <what the program says on stderr>, which lies in stray.txt
    grep -q "$1" "$scratch/stray.txt" || { echo "expected: $1"; cat "$scratch/stray.txt"; exit 1; }
  }
  if "${program}950" 30 2>"$scratch/stray.txt"; then
    echo "FAILED: 30 elements too many were no failure"
    exit 1
  fi
  said "^saxpy: a kernel did what no kernel may do$"
  said "^HIP on the emulator: out-of-bounds: .*saxpy.*'hipMalloc', which has 4000 bytes"
  MLA_HIP_CHECKS=1 "${program}942" 0 1 2>"$scratch/stray.txt" || true
  said "^HIP on the emulator: lds-race: .*backwards"
fi
echo "the consumers build; what is missing is named"
