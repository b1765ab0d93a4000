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

# A bundle, and the file of a plan: the same prediction as for its case.
ragged='mla1:5q1s300_2q1s900_1q1s3k;arch=gfx950;dtype=fp8/fp8'
try plan "$ragged" --bundle "$scratch/planned" --tensors
expect_exit 0
expect_out '^predicted +[0-9.]+ us predicted, [0-9.]+ us to [0-9.]+ us; a guess: '
try plan "$ragged" --json
expect_out '"predicted":\{"total_us":[0-9.]+'
cp "$scratch/out" "$scratch/plan.json"
try check "$scratch/plan.json"
expect_exit 0
try time "$ragged" --this-only
grep -E '^(predicted|beyond|  )' "$scratch/out" >"$scratch/of_case"
for what in "$scratch/planned" "$scratch/plan.json"; do
  try time "$what"
  expect_exit 0
  expect_out '^bundle '
  grep -E '^(predicted|beyond|  )' "$scratch/out" | diff "$scratch/of_case" - || fail 'another time'
done
try time "$scratch/plan.json" --step 1
expect_exit 2
expect_err '--step is 1, and .* has 1 plan, counted from 0'
try time "$scratch/planned" --against "$ragged;split=1"
expect_exit 0
expect_out '^changed +most: '

# A better plan: faster as predicted, right, and written for check and replay.
try time "$ragged" --better --save "$scratch/better" --tensors
expect_exit 0
expect_out '^better +a plan of [0-9.]+ us predicted'
expect_out '^v1.1 +'
! grep -E '[0-9] us' "$scratch/out" | grep -v predicted || fail 'a time is not called predicted'
try check "$scratch/better"
expect_exit 0
try replay "$scratch/better"
expect_exit 0
expect_out '^backend cpu: pass$'
try time "$scratch/better" --against "$scratch/planned" --json
expect_exit 0
expect_out '"total_us": -[0-9.]+'
try time "$scratch/planned" --better --save "$scratch/again"
expect_exit 0
try check "$scratch/again"
expect_exit 0
try replay "$scratch/again"
expect_exit 0
expect_out '^backend cpu: pass$'
cmp "$scratch/better/work_info.npy" "$scratch/again/work_info.npy" || fail 'two plans for one step'
try time 'mla1:256q1s1k;arch=gfx950;dtype=fp8/fp8' --better --save "$scratch/none"
expect_exit 10
expect_out '^better +no plan was found that is predicted to be faster$'
[[ ! -e $scratch/none ]] || fail 'a bundle without a better plan'
try time 'mla1:1q1s2k;arch=gfx950;planner=none' --better
expect_exit 10
expect_err 'searches a plan for a step that has one'
try show "$scratch/better" --against "$scratch/planned"
expect_exit 0
expect_out '^A: [0-9.]+ us predicted'
try show "$scratch/better" --html -
expect_exit 0
expect_out '<th>predicted</th><td>[0-9.]+ us predicted, '

# A plan that is not valid has no time, nor has a step of another kind.
sed 's/"work_info":\[0,/"work_info":[1,/' "$scratch/plan.json" >"$scratch/wrong.json"
try time "$scratch/wrong.json"
expect_exit 10
expect_silent out
expect_err 'the plan is not valid, so that its time means nothing: '
try plan 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512' --json
cp "$scratch/out" "$scratch/prefill.json"
try time "$scratch/prefill.json"
expect_exit 10
expect_silent out

# Options that contradict each other.
try time "$one" --save "$scratch/x"
expect_exit 2
expect_err '--save goes with --better'
try time "$one" --better --tensors
expect_exit 2
try time "$scratch/planned" --better --save "$scratch/x" --tensors
expect_exit 2
expect_err 'a bundle keeps those that it has'
try time "$scratch/plan.json" --better --save "$scratch/x"
expect_exit 2
expect_err "--save goes with a case or a bundle"
try time "$one" --batches 1
expect_exit 2
expect_err 'go with --sweep'

# A sweep: a table, JSON, a page and a picture.
try time "$one" --sweep --batches 1,16 --contexts 1k,4k --html "$scratch/s.html" --svg "$scratch/s.svg"
expect_exit 0
expect_baseline time_sweep.txt
grep -q '<h2 id="times">Predicted time of a step' "$scratch/s.html" || fail 'no picture on the page'
python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' "$scratch/s.svg" ||
  fail 'the picture is no XML'
grep -q '16 requests of 4,096 keys: 26.6 us predicted, 23.1 us to 30.6 us<' "$scratch/s.svg" ||
  fail 'a point does not say its time'
try time "$one" --sweep --batches 16 --contexts 4k --json
expect_exit 0
expect_json
expect_out '"total_us": 26.6'
try time 'mla1:1q1s4k' --sweep --batches 1,2 --contexts 1k
expect_exit 10
expect_out '^- 2 shapes: outside of the fitted range'
for list in 0 70000 x 1,,2 '' 1k,; do
  try time "$one" --sweep "--batches=$list" --contexts 1k
  [[ -z $list ]] || expect_exit 2
done
try time "$one" --sweep --contexts 5000k
expect_exit 2
expect_err 'expected 0 to 4194304'
try time "$one" --sweep --better
expect_exit 2
try time "$scratch/planned" --sweep
expect_exit 2
