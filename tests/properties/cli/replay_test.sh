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

# A prefill and an FA step as well, and P28 and P25 do not blame the refusal.
try replay 'mla1:1q12s0;kind=prefill'
expect_exit 10
expect_out '^refused: request 0 has 0 keys for 12 query rows.*BUG-075'
try replay 'mla1:1q1s1_1q2s3;heads=16;block=32;kind=fa;workspace=1'
expect_exit 10
expect_out '^refused: .*a workspace of 1 tokens has none for each of 2 extends'
try replay 'mla1:1q1s1;heads=16;block=32;origin=67108862;kind=fa'
expect_exit 10
expect_out '^refused: .*do not fit int32 page indices'

# A sequence is refused as a whole, whichever step is, and of whatever kind.
for kind in decode prefill; do
  for steps in 1q5s3+1q7s7 1q7s7+1q5s3 1q7s7+1q2s2+1q5s3; do
    before=${steps%%+1q5s3*}
    pluses=${before//[^+]/}
    index=$((${#pluses} + 1))
    [[ $steps == 1q5s3* ]] && index=0
    try replay "mla1:$steps;cu=4;kind=$kind"
    expect_exit 10
    expect_out "^refused: step $index: request 0 has 3 keys for 5 query rows.*BUG-075"
    expect_no_out '^P05.*: pass'
    try show "mla1:$steps;cu=4;kind=$kind"
    expect_exit 10
    expect_err "step $index: request 0 has 3 keys"
  done
done
echo 'mla1:1q1s300+1q5s3;cu=4' >"$scratch/sequence.txt"
echo 'mla1:1q1s300;cu=4' >>"$scratch/sequence.txt"
try run --cases-file "$scratch/sequence.txt" --cases 0 --property P05
expect_exit 0
expect_out '2 cases \(1 refused\)'

try replay 'mla1:1q1s9;heads=999'
expect_exit 2
expect_err "case field 'heads' has value '999': expected 1 to 128"
try replay
expect_exit 2
try replay 'mla1:1q1s9' --property P99
expect_exit 4

# JUnit: a test for each property; a case that is refused passes nothing.
try replay 'mla1:1q2s2' --property P05,P12 --plant SEED-qo-arange --junit "$scratch/one.xml"
expect_exit 1
expect_err 'wrote .*/one.xml, [0-9]+ KiB$'
cp "$scratch/one.xml" "$scratch/out"
expect_out '<testsuite name="cpu" tests="2" failures="[12]" errors="0">'
expect_out '<testcase classname="mla-testbed.cpu" name="P12 qlen_sweep">'
expect_out '<failure message="out of request 0 row 1 .*FAIL P'
expect_out '<property name="case" value="mla1:1q2s2;heads=16'
try replay 'mla1:1q5s2;arch=gfx950' --junit "$scratch/one.xml"
expect_exit 10
cp "$scratch/one.xml" "$scratch/out"
expect_out 'failures="0" errors="1"'
expect_out '<error message="request 0 has 2 keys for 5 query rows'

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
try replay 'mla1:1q2s2' --plant BUG-21
expect_exit 4
expect_err "'BUG-21' is not a plant; did you mean 'BUG-021'\?"

# What a message quotes moves no cursor, and no name fills the screen.
quietly() {
  LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' "$scratch/err" && fail 'a control character on stderr'
  [[ $(wc -c <"$scratch/err") -lt 1000 ]] || fail 'more than 1000 bytes on stderr'
}
long=$(printf 'x%.0s' {1..5000})
for word in $'c\x1b[31m' "$long"; do
  try run --property "$word"
  expect_exit 4
  quietly
  try replay 'mla1:1q1s1' --plant "$word"
  expect_exit 4
  quietly
  try replay "mla1:$word"
  expect_exit 2
  quietly
done
for line in '\x1b[31mmla1:evil' '1q1s17\x0bmla1:1q1s18' "$long"; do
  printf "mla1:1q1s17\n$line\n" >"$scratch/lines.txt"
  try run --cases-file "$scratch/lines.txt"
  expect_exit 2
  expect_err 'lines.txt:2: case field'
  quietly
done

# Slips of the pen get a suggestion.
try replay 'mla1:1q1s5;haeds=8'
expect_exit 2
expect_err "case field 'haeds' with value '8' is unknown; did you mean 'heads'\?"
try replay 'mla1:1q1s5;colour=8'
expect_exit 2
expect_err "case field 'colour' with value '8' is unknown; there are heads, block, "

# Several properties that fail on the case are one block, whose REPRO line judges by all of them.
try replay 'mla1:1q2s2' --plant SEED-qo-arange
expect_exit 1
expect_out '^FAIL P[0-9]+(,P[0-9]+)+ mla1:1q2s2;'
[[ $(grep -c '^FAIL' "$scratch/out") -eq 1 ]] || fail 'expected one block'
expect_out "^REPRO: .* --property P[0-9]+(,P[0-9]+)+ --plant SEED-qo-arange"

# A captured step: the plan is sound, the backends are right, the engine's result is not.
try replay "$root/fixtures/bundles/kernel"
expect_exit 1
expect_out '^backend cpu: pass$'
expect_out "^the engine's result: fail, out of request 0 row 0"
expect_out '^  wrong: 2 of 2 requests, 2 of 2 rows, 16 of 16 heads, all dims$'
expect_out '^  one factor explains out: every element of these is 2 times the reference$'
expect_out '^  explained by a scale: kv_scale, 0.5, is left out of the values alone: '
expect_out '^at fault: the kernel, or what wrote the dump'
try replay "$root/fixtures/bundles/sound"
expect_exit 2
expect_err "array 'kv_cache_pages' is missing"
try replay "$root/fixtures/bundles/kernel" --property P05
expect_exit 2
expect_err 'go with a case'

# Broken: pages under other ids, a list that is too short.
cp -r "$root/fixtures/bundles/kernel" "$scratch/step"
sed -i '/"fnv1a64"/d; /"sha256"/d; s/\("file": "[^"]*"\),$/\1/' "$scratch/step/manifest.json"
cp "$scratch/step/kv_indices.npy" "$scratch/step/kv_cache_pages.npy"
try replay "$scratch/step"
expect_exit 1
cp "$scratch/step/reduce_indptr.npy" "$scratch/step/kv_indices.npy"
try replay "$scratch/step"
expect_exit 1
expect_out '^plan: batch: kv_indices has [0-9]+ entries, seqlens_kv_indptr asks for 53$'
expect_out '^at fault: the builder'

# Statistics are those of the emulator.
try replay 'mla1:1q1s8k;cu=4' --property P24 --statistics
expect_exit 2
expect_err "needs an emulated device, not 'auto'"

# Cases that no machine holds are refused by a sentence, at once.
for case in 'mla1:65536q4096s4096k;heads=128' 'mla1:65536q4096s4096k;kind=prefill;heads=128' \
  'mla1:65536q1s4096k;kind=fa;block=16;heads=64;kvheads=64;dim=256' 'mla1:1q1s5+65536q1s4096k'
do
  try replay "$case"
  expect_exit 3
  expect_err 'judging it needs about [0-9.]+ [GTP]iB of memory \(cache .*\); .* are available'
done

# A backend without FA steps judges what needs no step; beside what needs one the case is refused.
fa='mla1:1q1s5;kind=fa;block=16'
try replay "$fa" --backend hip --device emulated:gfx942 --property P01,P27,P32
expect_exit 0
expect_no_out 'refused'
try replay "$fa" --backend hip --device emulated:gfx942 --property P01,P28
expect_exit 10
# What the random runs do not execute, --any-size does; a failure's REPRO line says so.
large='mla1:64q1s3k;heads=128;arch=gfx950;dtype=fp8/fp8'
try replay "$large" --property P05
expect_exit 10
expect_out 'attention is not executed: 26 million .* the limits are 22 million and 2048 MiB'
try replay "$large" --property P05 --any-size
expect_exit 0
expect_out '^P05 plan_coverage: pass$'
expect_out '^launched: cpu on .*: decode 1 '
try replay "$large" --property P05 --any-size --plant BUG-068
expect_exit 1
expect_out '^REPRO: .* --property P05 --any-size --plant BUG-068$'
try replay "$large" --property P05 --any-size --memory-limit 64M
expect_exit 3
expect_err 'judging it needs about [0-9]+ MiB of memory \(cache [0-9]+ MiB, .* lists [0-9.]+ [KM]iB\);'
try replay "$root/fixtures/bundles/kernel" --any-size
expect_exit 2

try replay 'mla1:1q1s1024k' --memory-limit 1G
expect_exit 3
expect_err 'mla1:1q1s1024k;.* 1.0 GiB are allowed by --memory-limit$'
try replay 'mla1:1q1s5' --memory-limit 1G --property P05
expect_exit 0
try replay 'mla1:1q1s5' --memory-limit 1
expect_exit 2
for case in 'mla1:2147483648q1s1' 'mla1:1q1s5;cu=1099511627776' 'mla1:1q1s5;heads=999999999999' \
  'mla1:99999999999999999999q1s5' 'mla1:1q1s5;spare=99999999999.stale'
do
  try replay "$case"
  expect_exit 2
  expect_err 'expected'
done

# A later step is rightly refused: no property blames it.
try replay 'mla1:1q1s1+1q0s0' --property P28 --property P05
expect_out '^refused: step 1: no request has a query row'
expect_out '^P28 kernel_available: pass$'
expect_no_out '^FAIL'

# A bundle is executed as its launch says: rows, splits, and scales of fp8 operands only.
# dumped NAME CASE [KEY VALUE]...: a bundle with tensors, and these keys in its manifest
dumped() {
  "$testbed" plan "$2" --bundle "$scratch/$1" --tensors >/dev/null || fail "plan --tensors of $2"
  python3 - "$scratch/$1/manifest.json" "${@:3}" <<'END'
import json, sys
path, *rest = sys.argv[1:]
manifest = json.load(open(path))
manifest.update({key: json.loads(value) for key, value in zip(rest[::2], rest[1::2])})
json.dump(manifest, open(path, "w"))
END
}
dumped more 'mla1:3q1s110;dtype=fp8/fp8;arch=gfx950;cu=4' launch_max_seqlen_q 2
try replay "$scratch/more"
expect_exit 0
expect_out '^launched with max_seqlen_q 2$'
expect_out '^backend cpu: pass$'
dumped fewer 'mla1:2q4s300;arch=gfx950;cu=8;planner=none' launch_max_seqlen_q 1
try replay "$scratch/fewer"
expect_exit 1
expect_out 'max_seqlen_q is 1 at the launch, and a request has 4 rows: nothing writes the others'
dumped scaled 'mla1:2q1s90;cu=4' kv_scale 0.5 q_scale 3
try replay "$scratch/scaled"
expect_exit 0
expect_out "^the engine's result: pass$"
dumped negative 'mla1:2q1s90;cu=4;dtype=fp8/fp8' kv_scale -3
try replay "$scratch/negative"
expect_exit 2
expect_err "key 'kv_scale' is -3: expected a number from 1e-15 to 1e15"
dumped flat 'mla1:2q1s90;cu=4' softmax_scale 0
try replay "$scratch/flat"
expect_exit 2
expect_err "key 'softmax_scale' is 0: expected a number from 1e-15 to 1e15"
dumped splits 'mla1:2q1s300;dtype=fp8/fp8;planner=none;splits=8'
try replay "$scratch/splits"
expect_exit 0
expect_out '^case .*;planner=none;splits=8$'
dumped unread 'mla1:2q4s300;cu=8;planner=none' launch_causal false launch_cp_rank '"x"'
try replay "$scratch/unread"
expect_exit 2
expect_err "key 'launch_cp_rank' is "
# What an engine's result holds for a request without keys is not judged.
dumped keyless 'mla1:1q1s9_1q1s0;cu=4'
python3 - "$scratch/keyless" <<'END'
import json, sys
path = sys.argv[1]
manifest = json.load(open(path + "/manifest.json"))
for entry in manifest["arrays"].values():
    entry.pop("sha256", None)
json.dump(manifest, open(path + "/manifest.json", "w"))
data = bytearray(open(path + "/out.npy", "rb").read())
row = 16 * 512 * 2
data[-row:] = b"\xc0\x7f" * (row // 2)
open(path + "/out.npy", "wb").write(data)
END
try replay "$scratch/keyless"
expect_exit 0
expect_out "^the engine's result: pass$"

# One object for machines, with the failure block on stderr.
try replay 'mla1:1q2s2' --property P05,P12 --plant SEED-qo-arange --json
expect_exit 1
expect_json
expect_err '^FAIL P05,P12 mla1:1q2s2;'
python3 - "$scratch/out" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["format"] == "mla-testbed replay 1" and found["exit_code"] == 1, found
assert found["case"].startswith("mla1:1q2s2;heads=16;"), found["case"]
[backend] = found["backends"]
verdicts = [(p["id"], p["verdict"]) for p in backend["properties"]]
assert verdicts == [("P05", "fail"), ("P12", "fail")], verdicts
assert backend["failure"]["block"].startswith("FAIL "), backend
assert backend["launches"], backend
END
try replay "$root/fixtures/bundles/kernel" --json
expect_exit 2
expect_err '--json and --junit go with a case'
