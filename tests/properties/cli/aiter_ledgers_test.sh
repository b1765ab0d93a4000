#!/usr/bin/env bash
# The ledgers of AITER, as docs/use/aiter.md runs them: green, every finding named by kernels that the
# manifest has. Skipped unless AITER_HSA names the directory hsa of an installation.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -n ${AITER_HSA-} ]] || {
  echo "skipped: AITER_HSA does not name the directory hsa of an AITER installation"
  exit 10
}

for arch in gfx942 gfx950; do
  ledger=$root/fixtures/aiter_$arch.json
  manifest=$AITER_HSA/$arch/mla/mla_asm.csv
  for kernel in $(grep '"kernels"' "$ledger" | grep -oE '"mla_[a-z0-9_]*"|"MLA_[A-Za-z0-9_]*"'); do
    last="kernels of $ledger"
    grep -qE ",${kernel//\"/}[^,]*$" "$manifest" || fail "no kernel of $manifest begins $kernel"
  done
  try run --backend cpu,aiter --device "emulated:$arch" --ledger "$ledger" --cases 50 --no-progress
  expect_exit 0
  expect_out '^known: AITER-1[12], failed in [1-9]'
  # What random cases seldom draw; a file's case is of the architecture that it names.
  sed "/^mla1:/s/\$/;arch=$arch/" "$root/fixtures/cases/aiter_edges.txt" > "$scratch/edges.txt"
  try run --backend aiter --device "emulated:$arch" --ledger "$ledger" --no-progress \
    --cases-file "$scratch/edges.txt"
  expect_exit 0
  expect_out '^known: AITER-19, failed in [1-9]'
  try run --backend aiter --device "emulated:$arch" --ledger "$ledger" --cases 30 --production \
    --no-progress
  expect_exit 0
done

# A build with a checkout of AITER has its OPUS decode, with a ledger of its own.
opus=$(dirname "$testbed")/aiter_opus_gfx950.co
[[ -f $opus ]] || exit 0
try run --backend aiter --device emulated:gfx950 --ledger "$root/fixtures/aiter_opus_gfx950.json" \
  --cases 60 --no-progress --aiter-opus "$opus"
expect_exit 0
expect_out '^known: AITER-15, failed in [1-9]'
