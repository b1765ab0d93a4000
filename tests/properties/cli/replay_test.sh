#!/usr/bin/env bash
# `mla-testbed replay`: exactly one case, refusals with their reason.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

try replay 'mla1:2q2s100;heads=8;block=16' --property P05 --property P04
expect_exit 0
expect_out '^case mla1:2q2s100;heads=8;block=16;arch=gfx942;cu=304'
expect_out '^P04 indptr_shape: pass$'
expect_out '^P05 plan_coverage: pass$'

# Refused by the builder, and by the shape.
try replay 'mla1:1q5s2;arch=gfx950'
expect_exit 10
expect_out '^refused: request 0 has 2 keys for 5 query rows.*BUG-075'
try replay 'mla1:1q1s9;dtype=fp8/bf16'
expect_exit 10
expect_out '^refused: .*no kernel takes an fp8 query with a bf16 cache'

try replay 'mla1:1q1s9;heads=999'
expect_exit 2
expect_err "case field 'heads' has value '999': expected 1 to 128"
try replay
expect_exit 2
try replay 'mla1:1q1s9' --property P99
expect_exit 4

# A planted defect fails, and its REPRO line brings it back.
try replay 'mla1:1q2s2' --property P12 --plant SEED-qo-arange
expect_exit 1
expect_out '^FAIL P12 mla1:1q2s2;'
repro=$(sed -n "s/^REPRO: mla-testbed //p" "$scratch/out")
last="mla-testbed $repro"
eval "\"$testbed\" $repro" >"$scratch/out" 2>"$scratch/err"
code=$?
expect_exit 1
expect_out '^FAIL P12 mla1:1q2s2;'
try replay 'mla1:1q2s2' --plant BUG-999999
expect_exit 4
