#!/usr/bin/env bash
# .clusterfuzzlite/build.sh, with compiler flags and engine as its image sets them, makes targets that
# run where nothing is installed: no OpenMP, no C++ library of the system. Each holds on its corpus.
# The C++ library is libstdc++, which Debian's libFuzzer is built with; that of the image is libc++.
#
#   clusterfuzzlite_test.sh <clang++> <folder for the build>
#
# Exit: 0 all hold, 77 a sanitizer is missing, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
export CXX=$1 SRC=$PWD WORK=$2 OUT=$2/out LIB_FUZZING_ENGINE=-fsanitize=fuzzer MLA_DEPS=auto
export CXXFLAGS="-O1 -fno-omit-frame-pointer -gline-tables-only"
CXXFLAGS+=" -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
export LDFLAGS=-static-libstdc++  # the image has no other
mkdir -p "$OUT"
echo '#include <version>
int main() {}' >"$WORK/probe.cpp"
"$CXX" $CXXFLAGS $LDFLAGS "$WORK/probe.cpp" -o "$WORK/probe" 2>"$WORK/probe.log" ||
  { echo "$CXX lacks a sanitizer: $(tail -n 1 "$WORK/probe.log")"; exit 77; }

.clusterfuzzlite/build.sh
for archive in fixtures/corpus/*.tar.gz; do
  target=fuzz_$(basename "$archive" .tar.gz)
  needed=$(ldd "$OUT/$target" | sed -n 's/^\t\(lib[a-z_+]*\)\.so.*/\1/p' | sort | tr '\n' ' ')
  for library in $needed; do
    [[ " libc libdl libgcc_s libm libpthread libresolv librt " == *" $library "* ]] ||
      { echo "$target needs $library"; exit 1; }
  done
  rm -rf "$WORK/seeds"
  mkdir "$WORK/seeds"
  python3 -m zipfile -e "$OUT/${target}_seed_corpus.zip" "$WORK/seeds"
  [[ $(find "$WORK/seeds" -type f | wc -l) -gt 9 ]] || { echo "$target has no corpus"; exit 1; }
  "$OUT/$target" -runs=0 "$WORK/seeds" >"$WORK/$target.log" 2>&1 ||
    { tail -n 30 "$WORK/$target.log"; exit 1; }
  echo "$target: $(find "$WORK/seeds" -type f | wc -l) inputs held; needs $needed"
done
