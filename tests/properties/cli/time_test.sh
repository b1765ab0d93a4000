#!/usr/bin/env bash
# `mla-testbed time`: predicted times, what they compare with, and where there is none.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

one='mla1:16q1s4k;heads=32;arch=gfx950;dtype=fp8/fp8'
try time "$one"
expect_exit 0
expect_silent err
expect_baseline time.txt
# The word stands beside each number of microseconds.
! grep -E '[0-9] us' "$scratch/out" | grep -v predicted || fail 'a time is not called predicted'

try time "$one" --json
expect_exit 0
expect_json
expect_out '"fitted": true'
expect_out '"predicted_by_splits"'
try time "$one" --json --this-only
expect_exit 0
expect_json
expect_no_out '"splits"'
expect_out '"stage1_us"'

try time 'mla1:16q1s4k_q1s300;heads=32;arch=gfx950;dtype=fp8/fp8'
expect_exit 0
expect_out '^beyond +requests of 300 to 4096 keys; published times are of equal ones$'
expect_out '; a guess$'

# Outside of the fitted range there is no number.
try time 'mla1:16q1s4k'
expect_exit 10
expect_out '^predicted +nothing: outside of the fitted range: no published times of gfx942 bf16/bf16 with a plan$'
expect_no_out ' us'
try time 'mla1:16q1s4k' --json
expect_exit 10
expect_json
expect_out '"none": "outside of the fitted range'

try time "$one" --against "$one;split=4"
expect_exit 0
expect_out '^changed +most: '
try time "$one" --against "$one" --json
expect_exit 0
expect_json
expect_out '"total_us": 0.0'
try time "$one" --against 'mla1:16q1s4k'
expect_exit 10
expect_silent out
expect_err "'mla1:16q1s4k;.*' is outside of the fitted range"
try time "$one" --against "$one" --this-only
expect_exit 2
expect_err 'without effect'

try time 'mla1:16q1s4k;kind=prefill'
expect_exit 10
expect_silent out
expect_err 'time predicts decode steps, not a step of kind prefill'
try time 'mla1:16q1s4k+1q1s3'
expect_exit 10
expect_err 'time predicts one step, not a sequence of 2'
try time 'mla1:nonsense'
expect_exit 2
try time
expect_exit 2
