#!/usr/bin/env bash
# `mla-testbed check` of plans whose planner was told less than the launch knows, or something else.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# planned KEYS: checks planned.json, a planner call with these keys and AITER's plan of it.
planned() {
  python3 - "$1" >"$scratch/call.json" <<'END'
import json, sys
given = json.loads("{" + sys.argv[1] + "}")
requests = len(given["seqlens_kv_indptr"]) - 1
call = {"name": "call", "kv_last_page_lens": [1] * requests, "num_heads_k": 1, "is_causal": True,
        "page_size": 1, "kv_granularity": 16, "uni_seqlen_qo": -1, "topk": -1, "fast_mode": True,
        "max_split_per_batch": -1, "dtype_q": "bf16", "dtype_kv": "bf16", **given}
print(json.dumps({"cases": [call]}))
END
  "$testbed" plan --input "$scratch/call.json" --as-aiter >"$scratch/answer.json"
  python3 - "$scratch" <<'END'
import json, sys
call = json.load(open(sys.argv[1] + "/call.json"))["cases"][0]
answer = json.load(open(sys.argv[1] + "/answer.json"))["results"][0]
json.dump({**call, **answer}, open(sys.argv[1] + "/planned.json", "w"))
END
  try check "$scratch/planned.json"
}

# Without max_seqlen_qo AITER folds 64 heads in four, and the kernel of one row takes them whole.
fp8='"arch": "gfx942", "dtype_q": "fp8", "dtype_kv": "fp8"'
one_row='"seqlens_qo_indptr": [0, 1, 2], "seqlens_kv_indptr": [0, 16, 32], "num_cu": 80'
planned "$one_row, $fp8, \"num_heads_per_head_k\": 64, \"max_seqlen_qo\": 1, \"uni_seqlen_qo\": 1"
expect_exit 0
planned "$one_row, $fp8, \"num_heads_per_head_k\": 64, \"max_seqlen_qo\": -1, \"uni_seqlen_qo\": 1"
expect_exit 1
expect_out 'work_record: work [0-9]+ '
# And it leaves 16 heads of 5 rows in one tile, where gfx950 has a kernel for tiles of 3.
five_rows='"seqlens_qo_indptr": [0, 5], "seqlens_kv_indptr": [0, 1024], "num_cu": 4'
planned "$five_rows, \"arch\": \"gfx950\", \"num_heads_per_head_k\": 16, \"max_seqlen_qo\": -1"
expect_exit 1
expect_out 'a workgroup takes 4 rows of 16 heads'

# Keys that are dealt out to ranks one by one: each tile may see the last of a rank.
tiles='"seqlens_qo_indptr": [0, 4], "seqlens_kv_indptr": [0, 900], "num_cu": 4, "arch": "gfx950"'
tiles="$tiles, \"num_heads_per_head_k\": 128, \"max_seqlen_qo\": 4, \"uni_seqlen_qo\": 4"
planned "$tiles, \"is_cp_round_robin\": true"
expect_exit 0
planned "$tiles"
expect_exit 0
sed -i 's/{/{"is_cp_round_robin": true, /' "$scratch/planned.json"
try check "$scratch/planned.json"
expect_exit 1
expect_out 'coverage: .*keys 899..900 of the request are covered by no work'

# A planner that is told of no mask leaves pieces that some rows of a causal model do not see.
verify='"seqlens_qo_indptr": [0, 4], "seqlens_kv_indptr": [0, 274], "num_cu": 2, "arch": "gfx942"'
verify="$verify, \"uni_seqlen_qo\": 4, \"is_causal\": false"
planned "$verify, \"num_heads_per_head_k\": 16, \"max_seqlen_qo\": -1"
expect_exit 0
expect_out 'masks several rows causally all the same: right for a causal model only'
expect_out 'note: .*see none of its keys'
planned "$verify, $fp8, \"num_heads_per_head_k\": 128, \"max_seqlen_qo\": 4"
expect_exit 0
expect_out 'a8w8 qh128_m32x4 masks only what a causal plan leaves out: right for no causal model'
# The launch brings a mask, as SGLang's does: what matters is what rows see then.
verify=${verify/274/300}
planned "$verify, \"num_heads_per_head_k\": 16, \"max_seqlen_qo\": 4"
expect_exit 0
sed -i 's/{/{"launch_causal": true, /' "$scratch/planned.json"
try check "$scratch/planned.json"
expect_exit 0
expect_out 'what the kernel found is valid as well'

# AITER-10 by the plan of a case line.
"$testbed" plan 'mla1:2q1s333_1q1s64;heads=64;cu=4;gran=1;dtype=fp8/fp8;arch=gfx950' --json \
  >"$scratch/late.json"
try check "$scratch/late.json"
expect_exit 0
expect_out 'note: a8w8 qh16_qseqlen4_v3 is right for works of 192 keys and more only while loads'

# What AITER does with a valid plan: 32 requests of one bf16 row go past it, unless splits are asked for.
listed() { python3 -c "print(list(range(0, ($1 + 1) * $2, $2)))"; }
many() {
  planned "\"seqlens_qo_indptr\": $(listed "$1" 1), \"seqlens_kv_indptr\": $(listed "$1" 20), \
\"num_cu\": 256, \"arch\": \"gfx950\", \"num_heads_per_head_k\": 16, \"max_seqlen_qo\": 1${2:-}"
  expect_exit 0
}
unused='note: AITER does not use this plan: its wrapper runs the step without one'
many 32
expect_out "$unused"
sed -i 's/{/{"launch_num_kv_splits": 16, /' "$scratch/planned.json"
try check "$scratch/planned.json"
expect_exit 0
expect_no_out "$unused"
sed -i 's/"launch_num_kv_splits": 16/"launch_persistent": true/' "$scratch/planned.json"
try check "$scratch/planned.json"
expect_exit 0
expect_no_out "$unused"
many 31
expect_no_out 'does not use this plan'
many 32 ', "dtype_kv": "fp8"'
expect_no_out 'does not use this plan'
# And its decode kernels know pages of one token only.
many 2 ', "page_size": 16, "kv_last_page_lens": [16, 16]'
expect_out 'kernels of August 2026 ignore the page size of 16: .*[(]BUG-059[)]'

# The tensors of a bundle: Q with other rows than the lists, which a replay refuses.
"$testbed" plan 'mla1:2q2s40;cu=4' --bundle "$scratch/rows" --tensors >/dev/null
try check "$scratch/rows"
expect_exit 0
python3 - "$scratch/rows" <<'END'
import hashlib, json, sys
folder = sys.argv[1]
raw = open(folder + "/q.npy", "rb").read()
start = 10 + int.from_bytes(raw[8:10], "little")
header = raw[10:start].replace(b"(4, 16, 576)", b"(3, 16, 576)")
assert header != raw[10:start], header
data = raw[:10] + header + raw[start:start + 3 * 16 * 576 * 2]
open(folder + "/q.npy", "wb").write(data)
manifest = json.load(open(folder + "/manifest.json"))
manifest["arrays"]["q"]["sha256"] = hashlib.sha256(data).hexdigest()
json.dump(manifest, open(folder + "/manifest.json", "w"))
END
try check "$scratch/rows"
expect_exit 1
expect_out 'batch: q has 3 rows, seqlens_qo_indptr is for 4'
try replay "$scratch/rows"
expect_exit 1
expect_out 'batch: q has 3 rows'
