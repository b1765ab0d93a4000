#!/usr/bin/env bash
# The page in the browser: one HTML file that plans, checks and draws, and loads nothing.
#
#   properties/browser/build.sh FILE.html [FOLDER]     FOLDER keeps what is compiled
#
# Compiles core, dump, show and what answers with a clang for WebAssembly, CXX_WASM (clang++-22), and
# the packages lld-22, libc++-22-dev-wasm32, libclang-rt-22-dev-wasm32, wasi-libc and nlohmann-json of
# Debian. CMAKE_CXX_COMPILER_LAUNCHER is what it is for CMake. No threads, files or exceptions are in
# it. Exit: 10 where a part of that is missing.
set -euo pipefail
page=$(realpath -m "${1?build.sh needs the name of the page}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiler=${CXX_WASM:-clang++-22}
if [[ -n ${2-} ]]; then
  mkdir -p "$2"
  scratch=$(realpath "$2")
else
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
fi
flags=(--target=wasm32-wasi -std=c++20 -O2 -flto -fno-exceptions -ffp-contract=off -DNDEBUG
  -Wall -Wextra -Wno-deprecated -I. "-I$scratch")
link=(-mexec-model=reactor -Wl,--gc-sections,--strip-all,-z,stack-size=8388608
  -Wl,--max-memory=4294967296)
echo '#include <vector>' >"$scratch/try.cpp"
"$compiler" "${flags[@]}" "${link[@]}" "$scratch/try.cpp" -o "$scratch/try.wasm" 2>"$scratch/why" || {
  echo "skipped: $compiler compiles nothing for wasm32-wasi: $(tail -n 1 "$scratch/why")"
  exit 10
}
version=$(sed -n 's/^project(mla-testbed VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$scratch/properties/app"
sed "s/@PROJECT_VERSION@/$version/; s/@[A-Za-z_]*@//" properties/app/build_info.hpp.in \
  >"$scratch/properties/app/build_info.hpp"
# What opens files is left to the command.
app=(check decode_step draw_dump fa_step list_memory plan_table prefill_step shown_plan table_text)
mapfile -t sources < <(
  find core -name '*.cpp' ! -name large_pages.cpp
  find properties/show -name '*.cpp'
  find properties/dump -name '*.cpp' ! -path '*/replay/*' \
    ! -name bundle_file.cpp ! -name open_dump.cpp
  printf 'properties/files/%s.cpp\n' json_fields parse_json printable
  printf 'properties/%s.cpp\n' generate/cost step/estimate step/prefill/config
  printf 'properties/app/%s.cpp\n' "${app[@]}"
  printf 'properties/browser/%s.cpp\n' answer exports
)
# Each library in batches: the helpers of one have names of their own.
rm -rf "$scratch/seen"
number=0
for part in core/engine core/ properties/show properties/dump properties/; do
  batch=()
  for source in "${sources[@]}"; do
    [[ $source == "$part"* && ! -e $scratch/seen/$source ]] || continue
    mkdir -p "$scratch/seen/$(dirname "$source")" && touch "$scratch/seen/$source"
    batch+=("#include \"$source\"")
  done
  printf '%s\n' "${batch[@]}" >"$scratch/batch-$number.cpp"
  number=$((number + 1))
done
printf '%s\n' "$scratch"/batch-*.cpp |
  xargs -P "$(nproc)" -I{} ${CMAKE_CXX_COMPILER_LAUNCHER-} "$compiler" "${flags[@]}" -c {} -o {}.o
"$compiler" "${flags[@]}" "${link[@]}" "$scratch"/batch-*.o -o "$scratch/page.wasm"
python3 properties/browser/assemble.py "$scratch/page.wasm" "$version" "$page"
echo "page: $(stat -c %s "$page") bytes in $page"
