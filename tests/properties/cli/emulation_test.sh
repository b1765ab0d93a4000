#!/usr/bin/env bash
# What an emulated device takes from the command line: checks, schedules, exact matrix products; and
# which AITER a record is of. Skipped where the build has no device code.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case='mla1:1q1s70;cu=2'
on=(--property P24 --backend hip --device emulated:gfx942)
try replay "$case" "${on[@]}"
if grep -q 'has no code' "$scratch/out"; then
  echo "skipped: no device code in this build"
  exit 10
fi
expect_exit 0
expect_no_out '^emulated with'

# The last line of a replay says under what the launches ran. A REPRO line has the same words.
try replay "$case" "${on[@]}" --checks --schedule slice=1,order=shuffled.7 --matrix exact
expect_exit 0
expect_out '^emulated with --checks --schedule slice=1,order=shuffled.7 --matrix exact: [1-9][0-9]* launch(es)? of [1-9] kernels?, 0 findings$'
for order in in-turn reverse shuffled.3; do
  try replay "$case" "${on[@]}" --checks=waits,lds --schedule "order=$order,slice=0"
  expect_exit 0
  expect_out '^P24 lse_contract: pass$'
done
try replay 'mla1:1q20s40;heads=2;kind=prefill' "${on[@]}" --checks=banks
expect_exit 0
expect_out ' [1-9][0-9]* extra passes over LDS banks$'
try replay "$case" "${on[@]}" --checks=waits
expect_no_out 'extra passes'

# Our own kernels have no finding. The compiler spills an unused scalar of the first; in the
# second, a merge does not jump over a branch that no lane takes.
for arch in gfx942 gfx950; do
  for line in 'P05 mla1:1q1s1;planner=none' 'P30 mla1:1q1s4;gran=8;layout=contiguous'; do
    try replay "${line#* };arch=$arch" --property "${line% *}" --backend hip \
      --device "emulated:$arch" --checks
    expect_exit 0
    expect_out '^emulated with --checks: [1-9].*, 0 findings$'
  done
done

# The list for devices launches every kernel that the judged steps have.
for arch in gfx942 gfx950; do
  try run --backend hip --device "emulated:$arch" --property P24 --cases 0 \
    --cases-file "$root/fixtures/cases/device.txt"
  expect_exit 0
  expect_out "launched: hip on emulated:$arch: decode .*\(.*reduce [1-9].*stage 1 [1-9]"
  expect_out "launched: hip on emulated:$arch: .* prefill .*\(.*flash attention [1-9]"
done
expect_out 'launched: hip on emulated:gfx950: .* prefill .*prefill_ps [1-9].*reduce [1-9]'

# Beside the CPU, and with a ledger, stages are compared; the REPRO line does so too.
cat >"$scratch/ledger.json" <<'END'
{"format": "mla-testbed ledger 2", "entries": [{"id": "X-1", "link": "x", "mechanism": "x",
  "kernels": ["x"], "status": "intermittent", "backend": "hip", "damage": ["nan"]}]}
END
for compared in "--backend cpu,hip" "--backend hip --ledger $scratch/ledger.json"; do
  try run $compared --device emulated:gfx942 --property P00 --cases 40
  expect_exit 1
  expect_out "^REPRO: .* --property P00 --backend cpu,hip --device emulated:gfx942$"
done
try run --backend hip --device emulated:gfx942 --property P00 --cases 40
expect_exit 1
expect_out '^REPRO: .* --property P00 --backend hip --device emulated:gfx942$'

# An emulated device gets shapes of production only when asked for them.
try run --backend hip --device emulated:gfx942 --property P05 --cases 60
expect_exit 0
small=$(grep launched "$scratch/out")
try run --backend hip --device emulated:gfx942 --property P05 --cases 60 --production
expect_exit 0
[[ $small != "$(grep launched "$scratch/out")" ]] || fail 'the same was launched'
try run --cases 4 --production
expect_exit 2
expect_err '^mla-testbed run: --production goes with backend hip or aiter$'

# Our kernels wait for all that they use: memory that answers late changes no number.
for arrival in early late random.3 after.20; do
  try replay "$case" "${on[@]}" --arrival "$arrival"
  expect_exit 0
  expect_out '^P24 lse_contract: pass$'
  expect_out "^emulated with --arrival $arrival: [1-9]"
done
try replay "$case" "${on[@]}" --arrival late --statistics
expect_out '^  rests on MEMORY_ORDER, [1-9][0-9]* wave instructions$'
expect_out '^  rests on MATRIX_ORDER, [1-9]'
expect_out '^  rests on SPECIAL_DENORMALS, [1-9]'
try replay "$case" "${on[@]}" --statistics
expect_no_out 'MEMORY_ORDER'
try replay "$case" "${on[@]}" --matrix exact --statistics
expect_no_out 'MATRIX_ORDER'

# Both other commands, with the device named by each in its own way.
echo "$case" >"$scratch/cases.txt"
try run --backend hip --device emulated:gfx942 --cases-file "$scratch/cases.txt" --property P24 \
  --checks --json
expect_exit 0
expect_json
expect_out '"options": "--checks"'
expect_out '"findings": \[\]'
for unit in decode expand planner prefill reduce; do
  expect_out "\"code object $unit\": \"[0-9a-f]{16}\""
done
try run --backend cpu,hip --device emulated:gfx942 --cases-file "$scratch/cases.txt" --property P24 \
  --checks=uninitialised
expect_exit 0
expect_out '^emulated with --checks=uninitialised: [1-9]'
try cross-check --device emulated:gfx942 --cases-file "$scratch/cases.txt" --cases 0 --checks=lds
expect_out '^emulated with --checks=lds: [1-9]'

# Shards of a counted cross-check are one, whatever the time they take.
crossed=(cross-check --device emulated:gfx942 --cases 3 --cases-file "$scratch/cases.txt" --no-progress)
try "${crossed[@]}" --json --junit "$scratch/whole.xml"
cp "$scratch/out" "$scratch/whole.json"
expect_out '"cases": 4,'
for i in 1 2; do
  try "${crossed[@]}" --shard $i/2 --record "$scratch/r$i.json"
done
try merge "$scratch/r2.json" "$scratch/r1.json" --json --junit "$scratch/merged.xml" --no-progress
same_but_times "$scratch/whole.json" "$scratch/out"
same_but_times "$scratch/whole.xml" "$scratch/merged.xml"
try cross-check --device emulated:gfx942 --cases 3 --for 1s
expect_exit 2

# Unknown words, values out of range, and devices that have no such thing.
refused() {
  try replay "$case" "${on[@]}" "${@:2}"
  expect_exit 2
  expect_silent out
  expect_err "$1"
}
refused "'wait' is no check; expected of all, waits, lds" --checks=wait
refused "'' is no check; expected of all, waits, lds" --checks=waits,
try replay "$case" "${on[@]}" --checks=all,banks
expect_exit 0
expect_out 'emulated with --checks=all,banks: [0-9]* launches of 1 kernel, 0 findings'
refused 'slice takes a number of instructions' --schedule slice=-1
refused 'slice takes a number of instructions' --schedule slice=4294967296
refused 'order takes in-turn, reverse or shuffled.<seed>' --schedule order=shuffled.
refused 'order takes in-turn, reverse or shuffled.<seed>' --schedule order
refused "'colour' is not known; expected slice=<n>, order=<order>" --schedule colour=red
refused 'expected fast or exact' --matrix precise
for arrival in soon random random. random.x after after.-1 late.3; do
  refused "--arrival has value '$arrival': expected early, late, random.<seed> or after.<instr" \
    --arrival "$arrival"
done
refused 'use one of them' --arrival late --checks
try replay "$case" "${on[@]}" --arrival late --checks=barriers,banks
expect_exit 0
try replay "$case;arch=gfx950" --backend hip --device emulated:gfx950 --matrix exact
expect_exit 2
expect_err 'no bit model of the matrix instructions of gfx950'
try replay "$case" --checks
expect_exit 2
expect_err '^mla-testbed replay: --checks goes with backend hip or aiter$'
# A case that the backend does not take is refused, whatever is said of its lists.
try replay "$case;arch=gfx950" --property P03 --backend hip --device emulated:gfx942
expect_exit 10
expect_out '^refused: backend hip on emulated:gfx942: a case of gfx950 does not run on gfx942'
try run --cases 2 --device emulated:gfx942 --no-progress
expect_exit 2
expect_err '^mla-testbed run: --device emulated:gfx942 goes with backend hip or aiter$'
try replay "$case" --backend hip --device auto --schedule slice=4
expect_exit 2
expect_err "^mla-testbed replay: --schedule slice=4 needs an emulated device, not 'auto'$"
try cross-check --device hip:0 --checks
expect_exit 2
expect_err "needs an emulated device, not 'hip:0'"

# A record of one AITER is not reported under the name of another: neither merged with it, nor gone
# on with, nor reported where another is given. A copy of the same files is the same.
for hsa in first same other; do
  mkdir -p "$scratch/$hsa/gfx942/mla"
  printf '%s\n%s\n' 'qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,knl_name,co_name' \
    'bf16,bf16,16,1,4,0,1,0,k,a.co' >"$scratch/$hsa/gfx942/mla/mla_asm.csv"
  echo code >"$scratch/$hsa/gfx942/mla/a.co"
done
echo 'other code' >"$scratch/other/gfx942/mla/a.co"
of_aiter=(--backend aiter --device emulated:gfx942 --cases 4 --property P04 --no-progress)
cp "$scratch/first/gfx942/mla/a.co" "$scratch/opus.co"
for i in 1 2; do
  for hsa in first same other; do
    try run "${of_aiter[@]}" --shard $i/2 --aiter-hsa "$scratch/$hsa" --record "$scratch/$hsa$i.json"
    expect_exit 0
  done
  try run "${of_aiter[@]}" --shard $i/2 --aiter-hsa "$scratch/first" \
    --aiter-opus "$scratch/opus.co" --record "$scratch/opus$i.json"
done
export AITER_HSA=$scratch/first
try merge "$scratch/first1.json" "$scratch/same2.json" --no-progress
expect_exit 0
try merge "$scratch/first1.json" "$scratch/other2.json" --no-progress
expect_exit 2
expect_err "other2.json' does not belong to '.*first1.json': AITER's code objects of backend aiter differ"
for command in "merge $scratch/other1.json $scratch/other2.json" "run --resume $scratch/other1.json"; do
  try $command --no-progress
  expect_exit 2
  expect_err 'the record is of another AITER: the code objects of backend aiter are not those of today'
done
try merge "$scratch/opus1.json" "$scratch/opus2.json" --no-progress
expect_exit 0
echo 'other code' >"$scratch/opus.co"
try merge "$scratch/opus1.json" "$scratch/opus2.json" --no-progress
expect_exit 2
expect_err 'the record is of another AITER'
sed -E 's/"code":"[^"]*"/"code":7/' "$scratch/first1.json" >"$scratch/typed.json"
try merge "$scratch/typed.json" "$scratch/first2.json"
expect_exit 2
expect_err "is no record of a run: key 'code' is 7: it must be a string"

# A REPRO line is for a shell, wherever AITER lies.
mkdir "$scratch/it's mine; echo"
mv "$scratch/first" "$scratch/it's mine; echo/hsa"
cp "$scratch/opus.co" "$scratch/a \$b.co"
try run --backend aiter --device emulated:gfx942 --property P00 --cases 40 --no-progress \
  --aiter-hsa "$scratch/it's mine; echo/hsa" --aiter-opus "$scratch/a \$b.co"
expect_exit 1
repro=$(sed -n 's/^REPRO: mla-testbed //p' "$scratch/out" | head -1)
eval "words=($repro)"
[[ ${words[-3]} == "$scratch/it's mine; echo/hsa" && ${words[-1]} == "$scratch/a \$b.co" ]] ||
  fail "not as it was given: $repro"
eval "try $repro"
expect_exit 1
expect_out '^FAIL P00 '
