#!/usr/bin/env bash
# properties/python/mla_testbed/mla_capture.py: what it dumps, `check` reads. Skipped without python3 and numpy.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The system's own Python has Debian's numpy; another one may come first in PATH.
python=
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && break
done
[[ $python ]] || { echo "no python3 with numpy"; exit 10; }

# An engine whose planner and kernel are ours: the script dumps what they were given.
mkdir -p "$scratch/aiter"
cat >"$scratch/aiter/__init__.py" <<'PYTHON'
def get_mla_metadata_v1(work_metadata_ptrs, work_indptr, work_info_set, reduce_indptr,
                        reduce_final_map, reduce_partial_map, seqlens_qo_indptr, seqlens_kv_indptr,
                        kv_last_page_lens, num_heads_per_head_k, num_heads_k, is_causal,
                        page_size=1, kv_granularity=16, max_seqlen_qo=-1, uni_seqlen_qo=-1,
                        fast_mode=True, topk=-1, max_split_per_batch=-1, intra_batch_mode=False,
                        mla_version=None, dtype_q_nope=None, dtype_q_rope=None,
                        dtype_kv_nope=None, dtype_kv_rope=None, dtype_q=None, dtype_kv=None):
    pass
def get_ps_metadata_v1(seqlens_qo_indptr, pages_kv_indptr, context_lens, gqa_ratio, num_heads_k,
                       work_metadata_ptrs, work_indptr, work_info, reduce_indptr, reduce_final_map,
                       reduce_partial_map, qhead_granularity=1, qlen_granularity=256,
                       kvlen_granularity=16, block_size=16, is_causal=True):
    pass
def decode_update_mla_metadata_v1(seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens,
                                  num_heads_per_head_k, num_heads_k, is_causal, work_metadata_ptrs,
                                  work_info_set, work_indptr, reduce_indptr, reduce_final_map,
                                  reduce_partial_map, page_size=1, kv_granularity=16,
                                  max_seqlen_qo=1, dtype_q="torch.bfloat16",
                                  dtype_kv="torch.bfloat16", num_reject_tokens=None):
    pass
PYTHON
cat >"$scratch/aiter/mla.py" <<'PYTHON'
def mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens,
                   max_seqlen_q, page_size=1, nhead_kv=1, sm_scale=None, num_kv_splits=None,
                   num_kv_splits_indptr=None, work_meta_data=None, work_indptr=None,
                   work_info_set=None, reduce_indptr=None, reduce_final_map=None,
                   reduce_partial_map=None, q_scale=None, kv_scale=None, causal=True):
    pass
# Whether the wrapper runs the kernel for a plan.
def _use_persistent_mla_decode(bs, nhead, max_seqlen_q, q_dtype, kv_dtype):
    return bs < 32
PYTHON
case='mla1:2q2s300_1q2s513;heads=16;cu=4;block=16;page=16'
"$testbed" plan "$case" --bundle "$scratch/source" --tensors >/dev/null || fail "plan --tensors"
"$testbed" plan 'mla1:1q1s301_1q1s514;heads=16;cu=4' --json >"$scratch/next.json" ||
  fail "plan --json of a decode step"
prefill='mla1:2q300s300_1q20s20;arch=gfx950;dtype=bf16/fp8;kind=prefill;cu=16;heads=16'
"$testbed" plan "$prefill" --json >"$scratch/prefill.json" || fail "plan --json of a prefill step"
many='mla1:40q1s70;arch=gfx950;heads=16;cu=4'
"$testbed" plan "$many" --bundle "$scratch/many" --tensors >/dev/null || fail "plan --tensors"
# Two files, copied out of the package, need nothing else of it.
cp "$root"/properties/python/mla_testbed/mla_{bundle,capture}.py "$scratch/"
PYTHONPATH="$scratch" "$python" - "$scratch" <<'PYTHON' || fail "the capture script"
import json, struct, sys
import numpy, aiter, aiter.mla, mla_capture
scratch = sys.argv[1]
manifest = json.load(open(scratch + "/source/manifest.json"))
array = {key: numpy.load(f"{scratch}/source/{key}.npy") for key in manifest["arrays"]}
mla_capture.device_facts = lambda: {"arch": "gfx942", "num_cu": manifest["num_cu"]}
original = aiter.mla.mla_decode_fwd
capture = mla_capture.install(scratch + "/dump", steps=1, skip=1, tensors=True)

sizes = manifest["buffer_sizes"]
arguments = {key: manifest[key] for key in mla_capture.NUMBERS if key != "is_cp_round_robin"}
arguments.update({key: array[key] for key in mla_capture.LISTS}, dtype_q="torch.bfloat16")
arguments["work_metadata_ptrs"] = None
poison = 0x7FA5A5A5  # what was not written
for parameter, key in mla_capture.BUFFERS.items():
    buffer = numpy.full(numpy.prod(sizes[parameter]), poison, dtype=numpy.int32)
    buffer[:array[key].size] = array[key]
    arguments[parameter] = buffer.reshape(sizes[parameter])
cache = numpy.zeros((int(array["kv_cache_pages"].max()) + 1, 16, 576), dtype=numpy.uint16)
cache[array["kv_cache_pages"]] = array["kv_cache"]
decode = dict(q=array["q"], kv_buffer=cache.reshape(-1, 16, 1, 576), o=array["out"],
              qo_indptr=array["seqlens_qo_indptr"], kv_indptr=array["seqlens_kv_indptr"],
              kv_indices=array["kv_indices"], kv_last_page_lens=array["kv_last_page_lens"],
              max_seqlen_q=2, page_size=16, sm_scale=manifest["softmax_scale"],
              work_indptr=arguments["work_indptr"],
              work_meta_data=numpy.array([arguments[key].ctypes.data for key in
                                          ("work_indptr", "work_info_set")], numpy.int64))
for step in range(3):
    aiter.get_mla_metadata_v1(**arguments)
    for layer in range(2):
        aiter.mla.mla_decode_fwd(**decode)

# A prefill planner, in steps 0 to 2 as well.
document = json.load(open(scratch + "/prefill.json"))
prefill = {key: document[key] for key in mla_capture.PREFILL_NUMBERS}
prefill.update({key: numpy.array(document[key], dtype=numpy.int32)
                for key in mla_capture.PREFILL_LISTS}, work_metadata_ptrs=None)
for parameter, key in mla_capture.PREFILL_BUFFERS.items():
    shape = document["buffer_sizes"]["work_info_set" if key == "work_info" else key]
    buffer = numpy.zeros(numpy.prod(shape), dtype=numpy.int32)
    buffer[:len(document[key])] = document[key]
    prefill[parameter] = buffer.reshape(shape)
decode_facts = mla_capture.device_facts
mla_capture.device_facts = lambda: {"arch": "gfx950", "num_cu": 16}
for step in range(3):
    aiter.get_ps_metadata_v1(**prefill)
mla_capture.device_facts = decode_facts
assert capture.summary() == ("mla_capture: 3 planner calls seen, 1 dumped; 3 of prefill steps, "
                             "1 dumped"), capture.summary()

# Layers of more heads than were planned, and of another dtype; no softmax scale, a scale a row.
class Fp8(numpy.ndarray):
    dtype = "torch.float8_e4m3fnuz"
wider = mla_capture.install(scratch + "/wider", steps=1)
aiter.get_mla_metadata_v1(**arguments)
aiter.mla.mla_decode_fwd(**{**decode, "o": numpy.concatenate([array["out"]] * 8, axis=1),
                            "q": array["q"].view(Fp8), "kv_buffer": decode["kv_buffer"].view(Fp8)})
scaled = mla_capture.install(scratch + "/scaled", steps=2, tensors=True)
for scales in ({}, {"q_scale": numpy.ones((5, 1), dtype=numpy.float32)}):
    aiter.get_mla_metadata_v1(**arguments)
    aiter.mla.mla_decode_fwd(**{**decode, "sm_scale": None, **scales})
found = json.load(open(scratch + "/scaled/step-000000/manifest.json"))
assert found["softmax_scale"] == 576 ** -0.5, found

# A plan that is overwritten between planner and kernel.
overwritten = mla_capture.install(scratch + "/late", steps=1)
aiter.get_mla_metadata_v1(**arguments)
arguments["work_info_set"].reshape(-1)[:8] = 0
aiter.mla.mla_decode_fwd(**decode, **{p: arguments[p] for p in mla_capture.BUFFERS
                                      if p != "work_indptr"})

# A plan of four rows that is updated in place: what it is told of rows is the step before's.
moved = mla_capture.install(scratch + "/moved", steps=1)
document = json.load(open(scratch + "/next.json"))
words = {key: numpy.array([word or 0 for word in document[key]], dtype=numpy.int32)
         for key in (*mla_capture.LISTS, *mla_capture.BUFFERS.values())}
aiter.decode_update_mla_metadata_v1(
    **{key: words[key] for key in mla_capture.LISTS},
    **{parameter: words[key] for parameter, key in mla_capture.BUFFERS.items()},
    num_heads_per_head_k=16, num_heads_k=1, is_causal=True, work_metadata_ptrs=None,
    max_seqlen_qo=4)
assert moved.summary().startswith("mla_capture: 1 planner calls seen, 1 dumped"), moved.summary()
updated = json.load(open(scratch + "/moved/step-000000/manifest.json"))
assert (updated["max_seqlen_qo"], updated["uni_seqlen_qo"]) == (1, 1), updated

# Four steps of two layers without a plan, in a buffer of page ids for many more keys, and one whose
# number of splits comes with a list.
few = json.load(open(scratch + "/many/manifest.json"))
held = {key: numpy.load(f"{scratch}/many/{key}.npy") for key in few["arrays"]}
mla_capture.device_facts = lambda: {"arch": "gfx950", "num_cu": 64}
layers = [numpy.zeros((int(held["kv_cache_pages"].max()) + 1, 1, 1, 576), dtype=numpy.uint16)
          for _ in range(2)]
for layer in layers:
    layer[held["kv_cache_pages"]] = held["kv_cache"].reshape(-1, 1, 1, 576)
class Bf16(numpy.ndarray):
    dtype = "torch.bfloat16"
layers = [layer.view(Bf16) for layer in layers]
bare = dict(q=held["q"].view(Bf16), o=held["out"].view(Bf16), qo_indptr=held["seqlens_qo_indptr"],
            kv_indptr=held["seqlens_kv_indptr"], kv_last_page_lens=held["kv_last_page_lens"],
            kv_indices=numpy.append(held["kv_indices"], numpy.full(90000, -1, numpy.int32)),
            max_seqlen_q=1, sm_scale=few["softmax_scale"])
# The first step is a warm-up with a cache of its own, the last one is a draft's.
unplanned = mla_capture.install(scratch + "/unplanned", steps=2, skip=1, tensors=True)
short = {**bare, "kv_indptr": held["seqlens_kv_indptr"] // 2}
aiter.mla.mla_decode_fwd(**short, kv_buffer=layers[1].copy().view(Bf16))
for step in range(2):
    for layer in layers:
        aiter.mla.mla_decode_fwd(**bare, kv_buffer=layer)
aiter.mla.mla_decode_fwd(**short, kv_buffer=layers[1])
assert unplanned.summary() == ("mla_capture: 0 planner calls seen, 0 dumped; steps without a "
                               "plan: 2 dumped"), unplanned.summary()
asked = mla_capture.install(scratch + "/asked", steps=1, tensors=True)
aiter.mla.mla_decode_fwd(**bare, kv_buffer=layers[0], num_kv_splits=5,
                         num_kv_splits_indptr=numpy.arange(0, 41 * 5, 5, dtype=numpy.int32))
# And a plan that AITER says it goes past.
past = mla_capture.launch_arguments({**bare, "kv_buffer": layers[0], "work_meta_data": [0, 0]})
assert (past["launch_persistent"], past["launch_total_kv"]) == (False, 40 * 70 + 90000), past

# Newer names of the dtypes, and an unknown layout.
new = dict(arguments, dtype_q=None, dtype_kv=None, dtype_q_nope="torch.float8_e4m3fnuz",
           dtype_q_rope="torch.bfloat16", dtype_kv_nope="torch.float8_e4m3fnuz",
           mla_version="MlaVersion.V40")
found = mla_capture.planned_dtypes(new)
assert found == {"dtype_q": "fp8", "dtype_q_rope": "bf16", "dtype_kv": "fp8",
                 "mla_version": "MlaVersion.V40"}, found
assert mla_capture.planned_dtypes(dict(new, dtype_q_rope=None, mla_version="MlaVersion.V32")) == {
    "dtype_q": "fp8", "dtype_kv": "fp8"}

# The same as one .safetensors file, bf16 by its name.
header, data = {}, b""
manifest.pop("arrays")
header["__metadata__"] = {"manifest": json.dumps(manifest)}
names = {"int32": "I32", "uint16": "BF16", "float32": "F32"}
for key, value in array.items():
    raw = value.tobytes()
    header[key] = {"dtype": names[str(value.dtype)], "shape": list(value.shape),
                   "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
for name, end in (("whole", None), ("cut", -7)):
    with open(f"{scratch}/{name}.safetensors", "wb") as file:
        file.write((struct.pack("<Q", len(text)) + text + data)[:end])
PYTHON

# The lines that docs/use/dump.md shows.
sed -n 's/^    \(import mla_capture\|mla_capture\.install.*\)$/\1/p' "$root/docs/use/dump.md" \
  >"$scratch/page.py"
[[ $(wc -l <"$scratch/page.py") -ge 2 ]] || fail "docs/use/dump.md shows no snippet"
PYTHONPATH="$scratch" "$python" "$scratch/page.py" || fail "the page's snippet"

[[ $(ls "$scratch/dump") == $'prefill-000000\nstep-000000\nunplanned-000000' ]] || fail "dumped: $(ls "$scratch/dump")"
try check "$scratch/dump/prefill-000000"
expect_exit 0
expect_out '^prefill 0: valid$'
try check "$scratch/late/step-000000"
expect_exit 1
expect_out 'launch: changed between planner and kernel: work 0 '
expect_out 'at fault: what came after the planner'
try check "$scratch/wider/step-000000"
expect_exit 1
expect_out 'launch: planned for 16 heads, the kernel gets 128; planned for bf16/bf16 tensors, the kernel gets fp8/fp8'
expect_out 'at fault: the builder: it is the plan of 16 heads, the kernel gets 128$'
try check "$scratch/scaled/step-000001"
expect_exit 0
try replay "$scratch/scaled/step-000001"
expect_exit 10
expect_err "a step whose q_scale is no single number \(its shape is \[5,1\]\) is not replayed"
try check "$scratch/moved/step-000000"
expect_exit 0
expect_out '^step 0: valid$'
# Replayed as AITER launches it: splits for the whole buffer of page ids, or those of the caller.
[[ $(ls "$scratch/unplanned") == $'unplanned-000000\nunplanned-000001' ]] || fail "dumped: $(ls "$scratch/unplanned")"
try check "$scratch/unplanned/unplanned-000000"
expect_exit 10
expect_out 'unplanned 0: not checked: there are no plan buffers'
try replay "$scratch/unplanned/unplanned-000000"
expect_exit 0
expect_out '^case mla1:40q1s70;.*;planner=none;splits=3$'
expect_out "^the engine's result: pass$"
try replay "$scratch/asked/unplanned-000000"
expect_exit 0
expect_out '^case .*;planner=none;splits=5$'
expect_out "^the engine's result: pass$"
try check "$scratch/dump/step-000000"
expect_exit 0
expect_out '^step 0: valid$'
try replay "$scratch/dump/step-000000"
expect_exit 0
expect_out '^backend cpu: pass$'
expect_out "^the engine's result: pass$"
for file in "$scratch/source" "$scratch/whole.safetensors"; do
  try replay "$file"
  expect_exit 0
  try check "$file"
  expect_exit 0
done
try replay "$scratch/cut.safetensors"
expect_exit 2
expect_err 'lies outside of the [0-9]+ bytes of data'
