#!/usr/bin/env bash
# wheel_test.sh <build directory> <scratch directory>: what a wheel is made of, from a tree configured
# as one, with the binaries of the build. tests/python/install_test.sh compiles one, nightly.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) tree=$2/wheel_tree wheel=$2/wheel

fail() {
  echo "FAILED: $1"
  exit 1
}

rm -rf "$tree" "$wheel"
fetched=() # libraries that the build fetched are not fetched again
for source in "$build"/_deps/*-src; do
  name=$(basename "$source" -src)
  [[ ! -d $source ]] || fetched+=("-DFETCHCONTENT_SOURCE_DIR_${name^^}=$source")
done
cmake -G Ninja -S "$root" -B "$tree" -DCMAKE_BUILD_TYPE=Release -DMLA_TESTS=OFF -DMLA_BENCHMARKS=OFF \
  "${fetched[@]}" -DSKBUILD=2 -DSKBUILD_SCRIPTS_DIR="$wheel/scripts" -DSKBUILD_DATA_DIR="$wheel/data" >"$2/wheel.txt" 2>&1 ||
  fail "the configuration: $(tail "$2/wheel.txt")"
grep -q '^-- mla-testbed: compiling takes about' "$2/wheel.txt" || fail 'it does not say how long it takes'

# The wheel builds these targets and no others: what is installed has to come from them.
read -ra targets < <(sed -n 's/^build.targets = \[\(.*\)\]$/\1/p' "$root/pyproject.toml" | tr -d '",')
made=$(ninja -C "$tree" -t inputs "${targets[@]}") || fail "a target of pyproject.toml does not exist"
for file in completions/_mla-testbed completions/mla-testbed.fish mla-testbed.1; do
  grep -qx ".*$file" <<<"$made" || fail "the targets of pyproject.toml do not make $file"
done

cp "$build/mla-testbed" "$build/mla-testbed.1" "$tree"
cp -r "$build/completions" "$tree"
cp "$build"/lib/libmla_testbed.so "$tree/lib"
cp -a "$build"/rocm/lib/libamdhip64.so* "$tree/rocm/lib"
cmake --install "$tree" --component python --prefix "$wheel/platlib" >>"$2/wheel.txt" 2>&1 ||
  fail "the installation: $(tail "$2/wheel.txt")"
for file in platlib/mla_testbed/lib/libmla_testbed.so scripts/mla-testbed \
  platlib/mla_testbed/rocm/{bin/hipcc,llvm/bin/clang++,lib/libamdhip64.so.6,lib/libamdhip64.so} \
  platlib/mla_testbed/rocm/{include/hip/hip_runtime.h,share/hipcc/main.py,lib/cmake/hip/hip-config.cmake} \
  data/share/man/man1/mla-testbed.1 data/share/bash-completion/completions/mla-testbed \
  data/share/zsh/site-functions/_mla-testbed data/share/fish/vendor_completions.d/mla-testbed.fish; do
  [[ -s $wheel/$file ]] || fail "there is no $file"
done
echo "$(find "$wheel" -type f | wc -l) files"
