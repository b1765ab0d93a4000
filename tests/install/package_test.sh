#!/usr/bin/env bash
# package_test.sh <build directory> <scratch directory>: the packages, unpacked somewhere else.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 scratch=$2
root=$(cd "$here/../.." && pwd)
version=$(sed -n 's/^project(mla-testbed VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
case='mla1:2q4s900_1q1s513;heads=8;block=16;cu=4'

fail() {
  echo "FAILED: $1"
  exit 1
}

rm -rf "$scratch/packages" "$scratch/a place" "$scratch/deb"
cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages" >"$scratch/cpack.txt" 2>&1 || {
  tail -30 "$scratch/cpack.txt"
  fail cpack
}

# Command, libraries, manual and documents below a prefix that no build knows.
judge_tree() { # <prefix>
  local prefix=$1 file page
  [[ $("$prefix/bin/mla-testbed" --version) == "mla-testbed $version" ]] || fail 'the version differs'
  (
    cd /
    "$prefix/bin/mla-testbed" plan "$case" | grep -q 'works: 6 on 4 of 4 slots' || fail plan
    "$prefix/bin/mla-testbed" run --no-progress --cases 5 --property P05 \
      --cases-file "$prefix/share/mla-testbed/cases/smoke.txt" >"$scratch/run.txt" ||
      fail "run: $(cat "$scratch/run.txt")"
    "$prefix/bin/mla-testbed" check "$prefix/share/doc/mla-testbed/bundles/sound" >"$scratch/check.txt" ||
      fail "check: $(cat "$scratch/check.txt")"
  )
  grep -qE '^P05 .* pass' "$scratch/run.txt" || fail 'P05 has not passed'
  for file in lib/libmla_testbed.so lib/libmla_core.a lib/libmla_hip.a include/mla_testbed.h \
    include/mla-testbed/core/case/case.hpp lib/cmake/MlaTestbed/MlaTestbedConfig.cmake \
    share/doc/mla-testbed/docs/use/start.md share/doc/mla-testbed/copyright \
    share/bash-completion/completions/mla-testbed; do
    [[ -s $prefix/$file ]] || fail "there is no $file"
  done
  page=$(echo "$prefix"/share/man/man1/mla-testbed.1*)
  zcat -f "$page" | diff - <("$root/properties/cli/manual.sh" "$prefix/bin/mla-testbed") || fail 'the manual is not that of the command'
  [[ $("$prefix/bin/mla-testbed" rocm --path) == "$(realpath "$prefix")/share/mla-testbed/rocm" ]] ||
    fail 'the stand-in for ROCm is not found'
  for file in bin/hipcc llvm/bin/clang++ lib/libamdhip64.so include/hip/hip_runtime.h share/hipcc/main.py; do
    [[ -s $prefix/share/mla-testbed/rocm/$file ]] || fail "there is no $file of ROCm"
  done
  ! grep -rIlF "$build" "$prefix" || fail 'a file names the build directory'
  if [[ -n ${MLA_DEVICE_CODE-} ]]; then
    "$prefix/bin/mla-testbed" replay "$case" --backend hip --device emulated:gfx942 --property P05 |
      grep -q 'P05 plan_coverage: pass' || fail 'there is no device code in the command'
  fi
}

mkdir "$scratch/a place"
archive=("$scratch/packages"/mla-testbed-"$version"-*.tar.gz)
tar -xzf "${archive[0]}" -C "$scratch/a place"
judge_tree "$(echo "$scratch/a place"/mla-testbed-"$version"-*)"
echo "$(du -h "${archive[0]}" | cut -f 1) archive: runs from another place"

if grep -q "^set(CPACK_GENERATOR .*DEB" "$build/CPackConfig.cmake"; then
  package=("$scratch/packages"/mla-testbed_"$version"*.deb)
  dpkg-deb --info "${package[0]}" >"$scratch/deb.txt"
  grep -q '^ Version: '"$version" "$scratch/deb.txt" || fail "version: $(cat "$scratch/deb.txt")"
  grep -q '^ Depends: .*libgomp1' "$scratch/deb.txt" || fail "dependencies: $(cat "$scratch/deb.txt")"
  dpkg-deb -x "${package[0]}" "$scratch/deb"
  judge_tree "$scratch/deb/usr"
  echo "$(du -h "${package[0]}" | cut -f 1) Debian package: runs from another place"
else
  echo "dpkg-deb, dpkg-shlibdeps or file is missing: no Debian package was made"
fi
