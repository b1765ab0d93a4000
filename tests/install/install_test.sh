#!/usr/bin/env bash
# install_test.sh <build directory> <scratch directory> <compiler>
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 scratch=$2 compiler=$3
rm -rf "$scratch/prefix" "$scratch/consumer"
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null

# The consumer sees the installed tree only: no header may name a file that was left behind.
cmake -G Ninja -S "$here/consumer" -B "$scratch/consumer" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/consumer"
"$scratch/consumer/consumer"
"$scratch/prefix/bin/mla-testbed" --version
