#!/usr/bin/env bash
# `mla-testbed plan` and `check`: the table, JSON in and out, and what check finds.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

try plan 'mla1:2q4s900_1q1s0_1q2s7;heads=8;block=16;cu=4'
expect_exit 0
expect_baseline plan.txt
try plan 'mla1:40q1s1k;arch=gfx950'
expect_exit 0
expect_baseline plan_split.txt
try plan 'mla1:2q4s900_1q1s0_1q2s7;heads=8;block=16;cu=4' --json
expect_exit 0
expect_json
expect_baseline plan.json

# What plan prints, check reads: valid, for every route that has a plan.
for line in 'mla1:2q4s900_1q1s0_1q2s7;heads=8;block=16;cu=4' 'mla1:3q2s900;heads=128;cu=80' \
  'mla1:2q8s300' 'mla1:3q1s777;block=64;page=64' 'mla1:2q1s8k;planner=v11;cu=16' \
  'mla1:2q1s8k;planner=v10;cu=16' 'mla1:2q3s500;heads=128;dtype=fp8/fp8;cu=16'
do
  try plan "$line" --json --output "$scratch/plan.json"
  expect_exit 0
  expect_silent out
  try check "$scratch/plan.json"
  expect_exit 0
  expect_out ': valid$'
done

# The other kinds of steps, and sequences.
try plan 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512;cu=16;heads=1'
expect_exit 0
expect_baseline plan_flash.txt
try plan 'mla1:2q300s300;arch=gfx950;dtype=bf16/fp8;kind=prefill;cu=16;heads=1'
expect_exit 0
expect_baseline plan_prefill.txt
try plan 'mla1:1q20s1000_2q1s600_1q5s5;heads=8;kvheads=2;block=16;kind=fa;workspace=300'
expect_exit 0
expect_baseline plan_fa.txt
try plan 'mla1:2q1s20;heads=8;kvheads=2;block=16;kind=fa;window=7'
expect_exit 0
expect_out 'unified_attention: a window of 7 keys'
expect_out '^transfers +none'
try plan 'mla1:2q2s90+1q2s2;cu=4;qpad=4'
expect_exit 0
expect_baseline plan_steps.txt
try plan 'mla1:2q2s90+1q3s2;cu=4'
expect_exit 10
expect_err 'step 1: request 0 has 2 keys for 3 query rows'
# A step without a plan is not checked; a prefill plan is, and its faults are named.
for line in 'mla1:2q300s300;arch=gfx950;kind=prefill;dtype=bf16/bf16' \
  'mla1:1q20s1000;heads=8;kvheads=2;block=16;kind=fa'
do
  try plan "$line" --json --output "$scratch/step.json"
  expect_exit 0
  try check "$scratch/step.json"
  expect_exit 10
  expect_out '^0 valid, 0 broken, 1 not checked$'
done
try plan 'mla1:2q300s300;arch=gfx950;dtype=bf16/fp8;kind=prefill' --json --output "$scratch/step.json"
expect_exit 0
try check "$scratch/step.json"
expect_exit 0
expect_out '^1 valid, 0 broken, 0 not checked$'
# AITER's own plans break no rule but that its kernel, of gfx950, does not take some of the calls.
try check "$root/fixtures/golden/ps_prefill.json"
expect_exit 1
expect_out '^7 valid, 17 broken, 0 not checked$'
expect_no_out '^  (work|coverage|row|partial|reduce|empty|batch)'
# damaged EXPRESSION: the prefill step with one thing changed, by a line of Python.
damaged() {
  python3 -c "import json,sys
d = json.load(open(sys.argv[1]))
$1
json.dump(d, open(sys.argv[2], 'w'))" "$scratch/step.json" "$scratch/damaged.json"
  try check "$scratch/damaged.json"
}
damaged 'd["work_info"][3] += 1'
expect_exit 1
expect_out 'work_record: work 0 has rows \[0, [0-9]+\), which are no tile of \[0, 300\)'
expect_out 'at fault: the builder, or what came after it: it differs from the planner.s in one word: work 0 q_end is'
# A word that was not written, in a work that runs.
damaged 'd["work_info"][0] = None'
expect_exit 1
expect_out 'work_record: work 0 is for request unwritten'
expect_out 'one word: work 0 batch is unwritten, planned 0'
damaged 'd["work_info"][7] = None'
expect_exit 1
expect_out 'work_record: work 0 is for heads unwritten of 16, 1 a work'
damaged 'd["reduce_partial_map"][0] = d["reduce_final_map"][0] = None'
expect_exit 1
expect_out 'reduce_list: the reduce of rows \[unwritten, [0-9]+\) does not name'
# The last word of a list is no less live, where the list ends with it.
damaged 'd["work_info"] = d["work_info"][:8 * d["work_indptr"][-1]]; d["work_info"][-1] = None'
expect_exit 1
expect_out 'is for heads unwritten of 16'
damaged 'd["kvlen_granularity"] = 3'
expect_exit 2
expect_err "key 'kvlen_granularity' is 3: it must be a power of two"
damaged 'd["block_size"] = 256'
expect_exit 2
expect_err "key 'kvlen_granularity' is 128: it must be a multiple of block_size, which is 256"
damaged 'd["num_heads_k"] = 32'
expect_exit 1
expect_out 'row_written: .* no work writes these rows'
damaged 'd["context_lens"][1] = 400'
expect_exit 1
expect_out 'batch: request 1 has 400 keys in context_lens, pages_kv_indptr gives it 300 pages of 1'
damaged 'd["qlen_granularity"] = 0'
expect_exit 2
expect_err "key 'qlen_granularity' is 0: it must be at least 1"
damaged 'd["page_size"] = 16'
expect_exit 2
expect_err "key 'page_size' is unknown"
damaged 'del d["context_lens"]'
expect_exit 2
expect_err "key 'context_lens' is missing"
try plan 'mla1:2q2s90+1q2s2;cu=4;qpad=4' --json --output "$scratch/steps.json"
try check "$scratch/steps.json"
expect_exit 0
expect_out '^2 valid, 0 broken, 0 not checked$'

# Bundles: what plan writes, check reads; the shipped ones say whose fault they show.
try plan 'mla1:2q4s900_1q1s513;heads=8;cu=4' --bundle "$scratch/bundle"
expect_exit 0
try check "$scratch/bundle"
expect_exit 0
expect_out ': valid$'
printf 'x' >>"$scratch/bundle/work_info.npy"
try check "$scratch/bundle"
expect_exit 2
expect_err "was changed after it was written: 'work_info.npy' has sha256 .*changed=True"
rm "$scratch/bundle/work_info.npy"
try check "$scratch/bundle"
expect_exit 2
expect_err "array 'work_info': cannot read"
sed -i 's|"work_info.npy"|"../work_info.npy"|' "$scratch/bundle/manifest.json"
try check "$scratch/bundle"
expect_exit 2
expect_err "names the file '../work_info.npy'"
try check "$root"/fixtures/bundles/*
expect_exit 1
expect_baseline check_bundles.txt

# A plan that says something else is found, in words and as JSON.
"$testbed" plan 'mla1:1q1s100;cu=2' --json | sed 's/"seqlens_kv_indptr":\[0,100\]/"seqlens_kv_indptr":[0,101]/' \
  >"$scratch/broken.json"
try check "$scratch/broken.json"
expect_exit 1
expect_out 'violations?$'
expect_out '^  (coverage|work_record): '
expect_out '^0 valid, 1 broken, 0 not checked$'
try check --json "$scratch/broken.json"
expect_exit 1
expect_json

# A batch that is none is found before its lists are followed.
"$testbed" plan 'mla1:2q1s100;cu=2' --json | sed 's/"seqlens_kv_indptr":\[0,100,200\]/"seqlens_kv_indptr":[0,200,100]/' \
  >"$scratch/backwards.json"
try check "$scratch/backwards.json"
expect_exit 1
expect_out 'batch: seqlens_kv_indptr runs backwards at request 1: 200 to 100'

# Rows as lists of their own, and no sizes: a dump as an engine's tolist() gives it.
try_with '{"arch":"gfx942","num_cu":2,"seqlens_qo_indptr":[0,1],"seqlens_kv_indptr":[0,5],
 "kv_last_page_lens":[1],"num_heads_per_head_k":16,"num_heads_k":1,"is_causal":true,
 "max_seqlen_qo":1,"work_indptr":[0,1,1],"work_info":[[0,-1,0,1,0,5,0,0]],"reduce_indptr":[0,0],
 "reduce_final_map":[[0,0]],"reduce_partial_map":[0]}' check -
expect_exit 0

# What cannot be read or checked is said, never passed.
try_with '{"cases":[]}' check -
expect_exit 4
try_with 'x' check -
expect_exit 2
try_with '{"name":"n","arch":"gfx942"}' check -
expect_exit 2
expect_err "key 'num_cu' is missing"
try check "$scratch/none.json"
expect_exit 3
try plan 'mla1:40q1s1k;arch=gfx950' --json --output "$scratch/split.json"
try check "$scratch/split.json"
expect_exit 10
expect_out 'not checked: there are no plan buffers'

# Documents.
try_with '{"cases":[{"name":"a","arch":"gfx942","num_cu":4,"seqlens_qo_indptr":[0,1],
 "seqlens_kv_indptr":[0,64],"kv_last_page_lens":[1],"num_heads_per_head_k":16,"num_heads_k":1,
 "is_causal":true,"max_seqlen_qo":1,"uni_seqlen_qo":1},{"name":"b"}]}' plan --input - --output -
expect_exit 0
expect_baseline plan_document.json
try plan
expect_exit 2
try plan 'mla1:1q1s9' --input x.json
expect_exit 2
try plan 'mla1:1q1s9' --planner serial
expect_exit 2
for kind in prefill fa; do
  try plan "mla1:1q9s9;kind=$kind" --as-aiter
  expect_exit 2
  expect_err "as-aiter goes with --input or with a case of kind decode, not $kind"
done
try plan 'mla1:1q1s9' --as-aiter
expect_exit 0
try plan --input "$scratch/none.json"
expect_exit 3
try plan 'mla1:1q5s2;arch=gfx950'
expect_exit 10
expect_err 'BUG-075'

# Lists that no machine holds are refused at once.
try plan 'mla1:65536q1s4096k'
expect_exit 3
expect_err 'its lists need about [0-9.]+ TiB of memory; .* are available'

# AITER's size query looks at intra_batch_mode in fast mode too, and its planner then writes past
# what the query gave.
call='"arch":"gfx950","num_cu":80,"seqlens_qo_indptr":[0,1],"seqlens_kv_indptr":[0,513],
"kv_last_page_lens":[1],"num_heads_per_head_k":16,"num_heads_k":1,"is_causal":true,"max_seqlen_qo":1,
"fast_mode":true,"name":"both"'
try_with "{\"cases\":[{$call,\"intra_batch_mode\":true}]}" plan --input -
expect_out '"error":"the planner writes element 263 of work_info_set, which has 256 elements"'
try_with "{\"cases\":[{$call,\"intra_batch_mode\":false}]}" plan --input -
expect_no_out '"error"'
