#!/usr/bin/env bash
# AITER's own kernels, emulated, on plans that `time --better` found: skipped unless AITER_HSA names
# the directory hsa of an installation (docs/use/aiter.md).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ -z ${AITER_HSA-} ]]; then
  echo 'skipped: AITER_HSA names no installation'
  exit 10
fi
executed=0
while read -r line; do
  rm -rf "$scratch/better"
  try time "$line;arch=gfx950" --better --this-only --save "$scratch/better" --tensors
  expect_exit 0
  try replay "$scratch/better" --backend aiter --device emulated:gfx950
  expect_exit 0
  expect_out '^backend aiter: pass$'
  expect_out 'launched: aiter on emulated:gfx950: decode 1 \(stage 1 1\)$'
  executed=$((executed + 1))
done <<'END'
mla1:1q1s2k;heads=16;dtype=fp8/fp8
mla1:5q1s300_2q1s900_1q1s3k;heads=16;dtype=fp8/fp8
mla1:3q4s321_2q4s1001;heads=16;dtype=fp8/fp8
mla1:3q2s290_1q2s2k;heads=64;dtype=fp8/fp8
mla1:3q1s700_1q1s1500;heads=32;dtype=fp8/fp8
mla1:3q3s700;heads=128;dtype=fp8/fp8
mla1:2q1s515_1q1s2k;heads=32;block=64;dtype=bf16/bf16;planner=v12
END
[[ $executed -eq 7 ]] || fail "$executed plans were executed, not 7"
