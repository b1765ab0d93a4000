#!/usr/bin/env bash
# `mla-testbed check` and `replay` of bundles that are damaged, hostile or not there.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Without sums and with the size given, so that a test can change bytes: copy_of NAME FOLDER
copy_of() {
  cp -r "$root/fixtures/bundles/$1" "$2"
  sed -i '/"fnv1a64"/d; /"sha256"/d; s/\("file": "[^"]*"\),$/\1/' "$2/manifest.json"
}
# Writes bytes at an offset after the 128 bytes of an .npy header: patch FILE OFFSET BYTES
patch() { printf "$3" | dd of="$1" bs=1 seek=$((128 + $2)) conv=notrunc status=none; }

# What is not there, or no bundle, is said.
for nothing in "$scratch/nonexistent" /nonexistent ./nonexistent.safetensors; do
  try replay "$nothing"
  expect_exit 3
  expect_silent out
  expect_err "nonexistent"
done
try replay /nonexistent
expect_err "there is no bundle '/nonexistent'"
for word in nonexistent 1q1s17; do # a path without a slash, a line without its first word
  try replay "$word"
  expect_exit 2
  expect_err "'$word' is neither a bundle nor a case: there is no such file or folder"
done
try replay "$root/docs/reference/bundles.md"
expect_exit 2
expect_err 'is not a bundle: a folder with manifest.json, or a .safetensors file'
try replay "$(printf 'a%.0s' {1..5000})"
expect_exit 2
try check "$(printf 'a%.0s' {1..5000})"
expect_exit 3

# Options that would be ignored are refused.
try plan 'mla1:1q1s9' --tensors
expect_exit 2
expect_err 'tensors goes with --bundle'
try plan 'mla1:1q1s9' --tensors --bundle "$scratch/both" --as-aiter
expect_exit 2
expect_err 'choose one of them'
try_with '{"cases":[]}' plan --input - --bundle "$scratch/both"
expect_exit 2
expect_err 'bundle goes with a case'
[[ ! -e $scratch/both ]] || fail 'a refused command wrote a bundle'

# JSON that nests too deeply: documents, manifests, headers, and the manifest in a header.
deep=$(printf '[%.0s' {1..200000})
printf '%s' "$deep" >"$scratch/deep.json"
copy_of sound "$scratch/deep"
printf '{"format": "mla-testbed bundle 1", "x": %s' "$deep" >"$scratch/deep/manifest.json"
header="{\"x\":$deep"
length=$(printf '%08x' ${#header})
{
  printf "\\x${length:6:2}\\x${length:4:2}\\x${length:2:2}\\x${length:0:2}\\0\\0\\0\\0"
  printf '%s' "$header"
} >"$scratch/deep.safetensors"
printf '{"format": "mla-testbed ledger 1", "entries": %s' "$deep" >"$scratch/ledger.json"
for command in "check $scratch/deep.json" "check $scratch/deep" "check $scratch/deep.safetensors" \
  "replay $scratch/deep" "replay $scratch/deep.safetensors" "plan --input $scratch/deep.json" \
  "run --cases 1 --ledger $scratch/ledger.json"
do
  # shellcheck disable=SC2086  # the words are arguments
  try $command
  expect_exit 2
  expect_err 'nests lists and objects 20000[01] levels deep: at most 64 are read'
done

# Names from a bundle cannot fake lines or move the cursor, wherever they are printed.
copy_of kernel "$scratch/hostile"
sed -i 's/"name": "[^"]*"/"name": "a\\u001b[31m\\nFAIL P05 x\\u009b\\u007f"/' \
  "$scratch/hostile/manifest.json"
for command in check replay 'check --json'; do
  # shellcheck disable=SC2086
  try $command "$scratch/hostile"
  expect_no_out $'[\x1b\x7f]'
  expect_no_out '^FAIL'
done
expect_json
sed -i 's/"arch": "[^"]*"/"arch": "a\\u001b[31m\\nFAIL P05 x"/' "$scratch/hostile/manifest.json"
try check "$scratch/hostile"
expect_exit 2
expect_err "key 'arch' is 'a\\\\x1B\[31m\\\\x0AFAIL P05 x'"
! grep -q $'\x1b' "$scratch/err" || fail 'an escape character on stderr'
try replay $'x\x1b[31m'
! grep -q $'\x1b' "$scratch/err" || fail 'an escape character on stderr'

# A page id that no page has: `check` and `replay` find it, although the dump holds such a page.
copy_of kernel "$scratch/page"
patch "$scratch/page/kv_indices.npy" 20 '\xff\xff\xff\xff'
for command in check replay; do
  try "$command" "$scratch/page"
  expect_exit 1
  expect_out 'batch: page 5 of request 0 is -1 in kv_indices, which is negative'
  expect_out 'at fault: the builder'
done

# NaN in a key: named as input; rows that do not see it are judged.
copy_of kernel "$scratch/nan"
first=$(od -An -tu4 -j128 -N4 "$scratch/nan/kv_indices.npy")
pages=$(od -An -v -w4 -tu4 -j128 "$scratch/nan/kv_cache_pages.npy")
place=$(grep -n "^ *$((first))\$" <<<"$pages" | cut -d: -f1)
patch "$scratch/nan/kv_cache.npy" $(((place - 1) * 576 + 3)) '\x80'
try replay "$scratch/nan"
expect_exit 1
expect_out '^input: key 0 of request 0 holds NaN at element 3$'
expect_out '^not judged: 1 of 2 rows, which such values reach$'
expect_out '^backend cpu: pass$'
expect_out "^the engine's result: fail, out of request 1 "
expect_out '^at fault: the kernel'
rm "$scratch/nan/out.npy"
sed -i '/"out": {/,/}/d' "$scratch/nan/manifest.json"
try replay "$scratch/nan"
expect_exit 1
expect_out '^at fault: the input: what computed Q'

# One file that cannot be read does not hide what is wrong with the others.
"$testbed" plan 'mla1:2q4s300;heads=16;cu=4' --json >"$scratch/good.json"
echo '{"arch":"gfx942"}' >"$scratch/poor.json"
try check "$scratch/poor.json" "$root/fixtures/bundles/rows" /nonexistent "$scratch/good.json"
expect_exit 1
expect_out '^1 valid, 1 broken, 0 not checked$'
expect_err "poor.json', plan 0: key "
expect_err "cannot read '/nonexistent'"
try check "$scratch/poor.json" "$scratch/good.json"
expect_exit 2
expect_out ': valid$'

# The planner is told of no mask, the kernel masks: SGLang plans so for causal models.
sed 's/"is_causal": *true/"is_causal":false/' "$scratch/good.json" >"$scratch/noncausal.json"
try check "$scratch/noncausal.json"
expect_exit 0
expect_out 'note: is_causal is false with up to 4 rows a request, and .* masks several rows'
sed -i 's/"is_causal":false/"is_causal":false,"launch_causal":true/' "$scratch/noncausal.json"
try check "$scratch/noncausal.json"
expect_exit 0
expect_out 'note: is_causal is false with up to 4 rows a request, and .* masks several rows'
sed 's/"kv_granularity": *16/"kv_granularity":3/' "$scratch/good.json" >"$scratch/three.json"
try check "$scratch/three.json"
expect_exit 2
expect_err "'kv_granularity' is 3: it must be a power of two"

# A valid plan with a work that the kernel gets wrong: 65 keys, of which the first of 4 rows sees 62.
straddled() {
  "$testbed" plan "mla1:$1;heads=16;arch=gfx950;cu=4" --json >"$scratch/straddled.json"
  try check "$scratch/straddled.json"
  expect_exit 0
}
straddled 1q4s65_1q4s66_1q4s67
expect_out 'note: a16w16 qh64_qseqlen1_v3 is wrong for work 0 .request 0, rows 0..4, of its 65 keys'
expect_out 'the first row sees 62 and the last 65., and for 1 more: AITER-27'
straddled 1q4s177
expect_out 'work 1 .request 0, rows 0..4, of its 65 keys the first row sees 62 and the last 65.: AITER'
straddled '1q4s65;block=16;page=16'
expect_out 'rows 0..4, of its 65 keys the first row sees 62 and the last 65.: AITER'
for right in 1q4s67_1q4s64_1q2s65_1q4s33 '1q4s67;block=16;page=16' '1q4s65;causal=0' \
  '1q4s65;dtype=fp8/fp8'
do
  straddled "$right"
  expect_no_out 'AITER-27'
done

# Lists of another width than the kernels read.
copy_of sound "$scratch/wide"
cp "$scratch/wide/work_indptr.npy" "$scratch/work_indptr.npy"
python3 - "$scratch/wide/work_indptr.npy" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
size = 10 + struct.unpack("<H", data[8:10])[0]
words = struct.unpack(f"<{(len(data) - size) // 4}i", data[size:])
header = data[:size].replace(b"'<i4'", b"'<i8'")
open(sys.argv[1], "wb").write(header + struct.pack(f"<{len(words)}q", *words))
END
try check "$scratch/wide"
expect_exit 2
expect_err "array 'work_indptr' has elements of 64 bits: kernels read int32"
# The same, as the kernel found it.
mv "$scratch/wide/work_indptr.npy" "$scratch/wide/launch.npy"
mv "$scratch/work_indptr.npy" "$scratch/wide/work_indptr.npy"
sed -i 's/"work_indptr": {/"launch_work_indptr": {"file": "launch.npy"}, &/' "$scratch/wide/manifest.json"
try check "$scratch/wide"
expect_exit 2
expect_err "array 'launch_work_indptr' has elements of 64 bits: kernels read int32"

# One of six buffers that was not dumped, or is too small, or a name that is not read.
# edited NAME FOLDER STATEMENT: a copy whose manifest m the statement changes.
edited() {
  copy_of "$1" "$2"
  python3 - "$2/manifest.json" "$3" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(m, open(sys.argv[1], "w"))
END
}
edited kernel "$scratch/without" 'del m["arrays"]["work_indptr"]'
for command in check replay; do
  try $command "$scratch/without"
  expect_exit 2
  expect_err "key 'work_indptr' is missing"
done
edited sound "$scratch/addresses" 'm["buffer_sizes"]["work_metadata_ptrs"] = [1]'
try check "$scratch/addresses"
expect_exit 2
expect_err "has \[1\] for 'work_metadata_ptrs': the planner writes 2 words"
edited sound "$scratch/unknown" 'm["buffer_sizes"]["reduce_indptrs"] = [4]'
try check "$scratch/unknown"
expect_exit 2
expect_err "has 'reduce_indptrs', which is unknown; did you mean 'reduce_indptr'"
edited sound "$scratch/twice" 'm["work_indptr"] = [0, 0, 0, 0, 0]'
try check "$scratch/twice"
expect_exit 2
expect_err "'work_indptr' is an array and a key of the manifest"

# An LSE alone is held to the reference; the case line has the scales.
edited kernel "$scratch/lse" 'del m["arrays"]["out"]'
try replay "$scratch/lse"
expect_exit 0
expect_out "^case .*;scale=1/0.5$"
expect_out "^the engine's result: pass"
patch "$scratch/lse/lse.npy" 0 '\x00\x00\x80\x7f'
try replay "$scratch/lse"
expect_exit 1
expect_out "^the engine's result: fail, LSE of request 0 row 0"
edited kernel "$scratch/none" 'del m["arrays"]["out"], m["arrays"]["lse"]'
try replay "$scratch/none"
expect_exit 0
expect_out "^the engine's result: skip, neither 'out' nor 'lse' was dumped"

# Pages of a prefill that no key is in.
"$testbed" plan 'mla1:1q30s30_1q7s7;arch=gfx950;dtype=bf16/fp8;kind=prefill;heads=2;cu=4' --json |
  sed -E 's/("pages_kv_indptr": *\[0, *30, *)37\]/\1137]/' >"$scratch/prefill.json"
try check "$scratch/prefill.json"
expect_exit 1
expect_out 'request 1 has 7 keys in context_lens, pages_kv_indptr gives it 107 pages of 1, by which the kernel counts keys'
# Without a mask no kernel counts keys. For rows of one key each the plan is the same.
"$testbed" plan 'mla1:2q1s1;arch=gfx950;dtype=bf16/fp8;kind=prefill;heads=2;cu=4' --json |
  sed -E 's/("pages_kv_indptr": *\[0, *1, *)2\]/\1102]/; s/("is_causal": *)true/\1false/' >"$scratch/prefill.json"
try check "$scratch/prefill.json"
expect_exit 0
expect_out 'note: request 1 has 1 keys in context_lens, for which 1 pages of 1 are enough; pages_kv_indptr gives it 101'

# The planner reaches such pages where its units do.
call='"name": "surplus", "arch": "gfx950", "num_cu": 2, "num_heads_k": 2, "gqa_ratio": 1, "block_size": 1,
  "seqlens_qo_indptr": [0, 20], "pages_kv_indptr": [0, 30], "context_lens": [25], "kvlen_granularity": 128, "is_causal": false'
"$testbed" plan --as-aiter --output "$scratch/planned" --input - <<<"{\"cases\": [{$call}]}"
sed -E 's/^\{"results":\[\{"name":"surplus"(.*)\}\]\}$/\1}/' "$scratch/planned" | cat <(echo "{$call") - >"$scratch/prefill.json"
try check "$scratch/prefill.json"
expect_exit 1
expect_out 'pages end at 30 where 25 of 25 are seen'
expect_out 'at fault: the builder: the planner gives this plan for the lists: request 0 has 25 keys but 30 pages of 1: units of 128'

# Nothing is written over, and nothing is without effect.
try plan 'mla1:2q300s900;kind=prefill' --bundle "$scratch/prefill"
expect_exit 10
expect_err 'bundle writes decode steps, not a step of kind prefill'
try show mla1:1q1s17 --html "$scratch/same" --svg "$scratch/./same"
expect_exit 2
expect_err "html and --svg both write"
try run --cases 2 --property P04 --junit "$scratch/same" --record "$scratch/same"
expect_exit 2
expect_err "junit and --record both write"
[[ ! -e $scratch/same ]] || fail 'a refused command wrote a file'
try replay "$root/fixtures/bundles/kernel" --memory-limit 1K
expect_exit 2
expect_err 'go with a case'
AITER_HSA= try replay mla1:1q1s9 --property P04 --aiter-hsa "$scratch"
expect_exit 2
expect_err "aiter-hsa $scratch goes with backend aiter"
try replay mla1:1q1s9 --property P04 --aiter-opus opus.co
expect_exit 2
expect_err 'aiter-opus opus.co goes with backend aiter'
AITER_HSA=$scratch try replay mla1:1q1s9 --property P04
expect_exit 0

# What has no end is not read to its end.
try check /dev/zero
expect_exit 3
expect_err "'/dev/zero' is no file and gave more than 1 GiB"

# A named pipe in a bundle would wait for a writer for ever. A file of its own may be a pipe.
for file in work_info.npy manifest.json; do
  rm -rf "$scratch/piped"
  cp -r "$root/fixtures/bundles/word" "$scratch/piped"
  rm "$scratch/piped/$file"
  mkfifo "$scratch/piped/$file"
  for command in check replay show; do
    try_in_time "$command" "$scratch/piped"
    expect_exit 2
    expect_err "piped/$file' is not a regular file"
  done
done
"$testbed" plan mla1:1q1s9 --json >"$scratch/plan.json"
last='mla-testbed check <(cat plan.json)'
"$testbed" check <(cat "$scratch/plan.json") >"$scratch/out" 2>"$scratch/err"
code=$?
expect_exit 0

# A short document that asks for gigabytes is refused.
sed -E 's/"seqlens_qo_indptr":\[[^]]*\]/"seqlens_qo_indptr":[0,100000000]/; s/"max_seqlen_qo":1/"max_seqlen_qo":100000000/' \
  "$scratch/plan.json" >"$scratch/long.json"
try check "$scratch/long.json"
expect_exit 2
expect_err "key 'max_seqlen_qo' is 100000000: expected at most 4096"
sed -E 's/"(seqlens_qo_indptr|seqlens_kv_indptr)":\[[^]]*\]/"\1":[0,100000000]/g; s/"(max_seqlen_qo|uni_seqlen_qo)":1,/"\1":-1,/g
        s/"kv_indices":\[[^]]*\],//' "$scratch/plan.json" >"$scratch/open.json"
try check "$scratch/open.json"
expect_exit 2
expect_err "key 'seqlens_qo_indptr' ends in 100000000: expected at most 4194304 query rows"

# Copies of one bundle are told apart; a folder of bundles names them.
mkdir "$scratch/steps"
cp -r "$root/fixtures/bundles/rows" "$scratch/steps/step-0"
cp -r "$root/fixtures/bundles/rows" "$scratch/steps/step-1"
try check "$scratch/steps/step-0" "$scratch/steps/step-1" "$root/fixtures/bundles/sound"
expect_exit 1
expect_out "^$scratch/steps/step-0: BUG-006: planned for one row.*: 6 violations$"
expect_out "^$scratch/steps/step-1: BUG-006"
expect_no_out 'bundles/sound: '
try check "$scratch/steps"
expect_exit 2
expect_err "'$scratch/steps' has no manifest.json; 2 bundles lie in it: '$scratch/steps/step-0'"

# Older bundles have FNV-1a, newer ones the sum that sha256sum prints.
"$testbed" plan 'mla1:1q1s9;cu=4' --bundle "$scratch/summed" >/dev/null
sum=$(sha256sum <"$scratch/summed/work_indptr.npy")
grep -q "\"sha256\": \"${sum%% *}\"" "$scratch/summed/manifest.json" || fail 'the manifest has another sum than sha256sum'
for changed in "$scratch/summed/work_indptr.npy" "$scratch/steps/step-0/work_indptr.npy"; do
  printf x >>"$changed"
  try check "$(dirname "$changed")"
  expect_exit 2
  expect_err 'was changed after it was written'
done
expect_err "has fnv1a64 .*, the manifest says"
