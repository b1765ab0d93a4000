#!/usr/bin/env bash
# The command on a processor without AVX: qemu plays one of 2008. Exit 10 (skipped) without qemu.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
qemu=$(command -v qemu-x86_64) || {
  echo "skipped: there is no qemu-x86_64 (Debian: qemu-user)"
  exit 10
}
case $("$qemu" -cpu Nehalem "$testbed" env 2>&1) in
  *'isa_paths     portable'*) ;;
  *) fail 'expected the portable code path alone' ;;
esac
on_nehalem() {
  last="qemu-x86_64 -cpu Nehalem mla-testbed $*"
  "$qemu" -cpu Nehalem "$testbed" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
}
on_nehalem run --cases-file "$root/fixtures/cases/smoke.txt" --property P05,P12 --no-progress
expect_exit 0
expect_out '^ +launched: cpu on portable: decode'
expect_no_out 'on avx'
on_nehalem replay 'mla1:2q4s40;heads=8' --property P12 --plant SEED-qo-arange
expect_exit 1
expect_out '^FAIL P12 '
