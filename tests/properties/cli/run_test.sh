#!/usr/bin/env bash
# `mla-testbed run`: verdicts, selections that match nothing, strict numbers, reports.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

try run --cases 20 --seed 1 --property P04
expect_exit 0
expect_out '^backend cpu: 20 cases \([0-9]+ refused\) in [0-9.]+ s, seed 1$'
expect_out '^P04  indptr_shape +[0-9]+ +[0-9]+ +0  pass$'
expect_out '^verdict: all held \(exit 0\)$'
expect_silent err

# The same seed judges the same cases.
"$testbed" run --cases 20 --seed 1 --property P04 | grep -v ' in ' >"$scratch/again"
grep -v ' in ' "$scratch/out" | diff - "$scratch/again" || fail "the same seed, another table"

# Nothing passes without having run.
try run --cases 0
expect_exit 4
expect_out '^verdict: inconclusive \(exit 4\)$'
try run --property P99
expect_exit 4
expect_err "'P99' matches no property; there are P01"
expect_silent out
try run --property P5
expect_exit 4
expect_err "'P5' matches no property; did you mean 'P05'\?"
try run --property plan_coverge
expect_exit 4
expect_err "did you mean 'plan_coverage'\?"
try run --cases 3 --property plan_coverage
expect_exit 0
expect_out '^P05  plan_coverage '
try run --cases-file "$scratch/missing.txt"
expect_exit 3
expect_err 'missing.txt'
printf '# nothing\n\n' >"$scratch/empty.txt"
try run --cases-file "$scratch/empty.txt"
expect_exit 4
expect_err 'holds no case'

# Where the time went: only if asked for, and no property twice.
expect_no_timing() { ! grep -qE 'cases a second|"timing"' "$scratch/out" || fail "timing is there"; }
try run --cases 20 --property P04 --property P05 --no-progress
expect_no_timing
try run --cases 20 --property P04 --property P05 --no-progress --timing
expect_exit 0
expect_out '^[0-9.]+ cases a second; at most [0-9.]+ MiB of memory; [0-9.]+ s in properties, of all workers:$'
[[ $(grep -cE '^  P0[45]  *[a-z_]+ +[0-9.]+ s +[0-9.]+ %$' "$scratch/out") == 2 ]] || fail "not both"
try run --cases 20 --property P04 --property P05 --no-progress --timing --json
expect_out '^ *"timing": \{$'
expect_out '^ *"cases_per_second": [0-9.e+-]+,$'
expect_out '^ *"peak_bytes": [0-9]{7,},$'
expect_out '^ *"P05": [0-9.e-]+$'

# The canary: a line below the table of every full run, and by name a failure whose REPRO line fails again.
try run --cases 300 --seed 1 --property P00
expect_exit 1
expect_out '^FAIL P00 mla1:'
repro=$(sed -n 's/^REPRO: mla-testbed //p' "$scratch/out")
eval "try $repro"
expect_exit 1
expect_out '^FAIL P00 mla1:'
try run --cases 2 --seed 1
expect_exit 4
expect_no_out '^P00'
expect_out '^self-test: P00, the canary, failed on purpose in [0-9] of 2 cases and on its witness'

# A ledger whose witness passes is out of date; one of the first format is refused.
cat >"$scratch/ledger.json" <<'END'
{"format": "mla-testbed ledger 2", "entries": [
  {"id": "X", "link": "x", "mechanism": "x", "status": "fails", "damage": ["claim"],
   "witnesses": [{"case": "mla1:1q1s3", "property": "P04"}]}]}
END
try run --cases 2 --property P04 --ledger "$scratch/ledger.json"
expect_exit 5
expect_out '^unexpected-pass: X, mla1:1q1s3;.* is listed as failing P04: pass$'
expect_out '^verdict: a known failure passed \(exit 5\)$'
printf '{"format": "mla-testbed ledger 1", "entries": []}' >"$scratch/old.json"
try run --cases 2 --ledger "$scratch/old.json"
expect_exit 2
expect_err "its format is 'mla-testbed ledger 1', one entry for each property"
try run --cases 2 --ledger "$scratch/bad.json"
expect_exit 3
python3 - "$scratch" <<'END'
import json, sys
ledger = json.load(open(sys.argv[1] + "/ledger.json"))
ledger["entries"] = [dict(ledger["entries"][0], id=name) for name in ("X", "Y", "X")]
json.dump(ledger, open(sys.argv[1] + "/twice.json", "w"))
END
try run --cases 2 --property P04 --ledger "$scratch/twice.json"
expect_exit 2
expect_err "twice.json': entries 0 and 2 have the same id 'X'$"

# A bad line names file, line, field and value.
printf '# one\nmla1:1q1s3\nmla1:1q1s3;heads=x\n' >"$scratch/bad.txt"
try run --cases-file "$scratch/bad.txt"
expect_exit 2
expect_err "bad.txt:3: case field 'heads' has value 'x': expected 1 to 128"

# Numbers are read strictly, and the message names option and value.
for bad in '--for 30' '--for 1.5s' '--for -1s' '--for s' '--for 99999h' '--cases 1e3' '--cases -5' \
  '--cases 0x10' '--cases 9999999999999999999' '--seed -1' '--seed 1 2' '--seed 18446744073709551616'
do
  # shellcheck disable=SC2086  # the words are two arguments
  try run $bad
  expect_exit 2
  expect_err "${bad##* }"
done
try run --for 1s --cases 3
expect_exit 2
try run --backend rocm
expect_exit 2
expect_err "backend 'rocm' is unknown; available: cpu, cpu-portable"
try run --backend hip --device null
expect_exit 3
expect_err "backend 'hip' has no device"
try run --backend hip --device emulated:gfx906
expect_exit 2
expect_err "device 'emulated:gfx906' is unknown"
# A code object is a file with content.
mkdir -p "$scratch/hsa/gfx950/mla"
printf '%s\n' 'qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,knl_name,co_name' \
  'bf16,bf16,16,1,4,0,1,0,k,a.co' >"$scratch/hsa/gfx950/mla/mla_asm.csv"
: >"$scratch/empty.co"
on=(--cases 1 --backend aiter --device emulated:gfx950 --aiter-hsa "$scratch/hsa" --aiter-opus)
try run "${on[@]}" /dev/null
expect_exit 3
expect_err "^mla-testbed run: --aiter-opus: '/dev/null' is not a regular file$"
try run "${on[@]}" "$scratch/empty.co"
expect_exit 3
expect_err 'empty.co is empty$'
try run "${on[@]}" "$scratch/none.co"
expect_exit 3
expect_err 'there is no file .*/none.co$'
try cross-check --device null
expect_exit 3
try cross-check --for soon
expect_exit 2
try run --backend cpu,cpu
expect_exit 2

# A time limit ends the run.
try run --for 300ms --property P04
expect_exit 0

# Cases from a file and from stdin, on two backends.
try_with 'mla1:2q1s40 # a comment
mla1:1q2s17;heads=128' run --cases-file - --property P05,P04 --backend cpu,cpu-portable
expect_exit 0
expect_out '^backend cpu: 2 cases'
expect_out '^backend cpu-portable: 2 cases'

# Reports for machines.
try run --cases 10 --property P04 --json --junit "$scratch/junit.xml"
expect_exit 0
expect_json
expect_out '"format": "mla-testbed run 1"'
expect_out '"exit_code": 0'
# docs/reference/output.md names every key.
for key in $(grep -oE '"[a-z_]+":' "$scratch/out" | tr -d '":' | sort -u); do
  grep -q "\`$key\`" "$root/docs/reference/output.md" || fail "docs/reference/output.md has no key $key"
done
grep -q '<testsuite name="cpu" tests="1" failures="0"' "$scratch/junit.xml" || fail "no JUnit report"
# A run that no case settled is red in JUnit too: skipped alone, and where no property applies.
try run --cases-file "$root/fixtures/cases/refused.txt" --property P05 --junit "$scratch/junit.xml"
expect_exit 4
grep -q '<testsuite name="cpu" tests="1" failures="0" errors="1" skipped="0"' "$scratch/junit.xml" ||
  fail 'no error in JUnit'
grep -q '<error message="ran on no case: ' "$scratch/junit.xml" || fail 'JUnit does not say why'
# A claim about prefill says nothing about given decode steps; alone, it leaves nothing judged.
echo 'mla1:1q1s5' >"$scratch/decode.txt"
try run --cases-file "$scratch/decode.txt" --property P04,P22
expect_exit 0
expect_out '^P22 .*not-applicable'
expect_out 'P22 is not applicable: the claim says nothing about decode steps'
try run --cases-file "$scratch/decode.txt" --property P22
expect_exit 4
# Of drawn cases none of a kind is a generator's fault, and stays inconclusive.
try run --cases-file "$scratch/decode.txt" --cases 1 --property P04,P22 --seed 3
expect_exit 4
try run --cases 1 --property P04 --json --junit -
expect_exit 2
expect_err "--json and --junit both write '-'"
try run --cases 1 --property P04 --junit -
expect_exit 2
expect_err "the report and --junit both write '-'"
# Under whatever name: two texts in one file are neither. /dev/null keeps neither.
try run --cases 1 --property P04 --json --record /dev/stdout
expect_exit 2
expect_silent out
expect_err "--json and --record both write '/dev/stdout'"
last='mla-testbed run --json --record /dev/stdout | cat'
"$testbed" run --cases 1 --property P04 --json --record /dev/stdout 2>"$scratch/err" |
  cat >"$scratch/out"
code=${PIPESTATUS[0]}
expect_exit 2
expect_silent out
try run --cases 1 --property P04 --junit "$scratch/out"
expect_exit 2
expect_err "the report and --junit both write '.*/out'"
ln -s both.xml "$scratch/other.xml"
touch "$scratch/both.xml"
try run --cases 1 --property P04 --junit "$scratch/both.xml" --html "$scratch/other.xml"
expect_exit 2
expect_err "--junit and --html both write '.*/other.xml'"
last='mla-testbed run --junit /dev/null >/dev/null'
"$testbed" run --cases 5 --property P04 --junit /dev/null >/dev/null 2>"$scratch/err"
code=$?
expect_exit 0
try run --cases 5 --property P04 --junit "$scratch/no/such/folder.xml"
expect_exit 3
expect_err 'No such file or directory'

# No report takes the place of a file that the run reads, whatever its name.
printf 'mla1:1q1s9\n' >"$scratch/read.txt"
ln -s read.txt "$scratch/link.txt"
printf '{"format":"mla-testbed ledger 2","entries":[]}\n' >"$scratch/ledger.json"
for option in --junit --html --record; do
  for name in read.txt ./read.txt link.txt; do
    try run --cases-file "$scratch/read.txt" --property P04 "$option" "$scratch/$name"
    expect_exit 2
    expect_silent out
    expect_err "$option would overwrite '.*/read.txt', which --cases-file reads: name another file"
  done
  try run --cases 2 --property P04 --ledger "$scratch/ledger.json" "$option" "$scratch/ledger.json"
  expect_exit 2
  expect_err "which --ledger reads"
done
[[ $(<"$scratch/read.txt") == mla1:1q1s9 ]] || fail 'the file of cases was overwritten'
"$testbed" plan mla1:1q1s9 --json >"$scratch/plan.json"
try check "$scratch/plan.json" --html "$scratch/plan.json"
expect_exit 2
expect_err 'which check reads'
try show "$scratch/plan.json" --svg "$scratch/plan.json"
expect_exit 2
expect_err 'which show reads'
try plan --input "$scratch/plan.json" --output "$scratch/plan.json"
expect_exit 2
expect_err 'which --input reads'

# A case for which there is no memory is skipped, and the run says so.
printf 'mla1:1q1s9\nmla1:65536q4096s4096k\n' >"$scratch/large.txt"
try run --cases-file "$scratch/large.txt" --property P05
expect_exit 4
expect_out '^P05 +plan_coverage +1 +1 +0  pass$'
expect_out '^not judged, for want of memory: mla1:65536q4096s4096k;'

# So are random ones, and they are counted.
try run --cases 200 --property P05 --memory-limit 45M --no-progress
expect_exit 4
expect_out '^not judged, for want of memory: [0-9]+ cases, the first of them mla1:'

# A process that may not have the threads that it asks for has fewer.
last='OMP_THREAD_LIMIT=1 mla-testbed run --property P31'
echo 'mla1:2q2s30;cu=4' >"$scratch/small.txt"
OMP_THREAD_LIMIT=1 "$testbed" run --cases-file "$scratch/small.txt" --property P31 --no-progress \
  >"$scratch/out" 2>"$scratch/err"
code=$?
expect_exit 0
last='OMP_NUM_THREADS=400000 mla-testbed replay --property P12'
OMP_NUM_THREADS=400000 "$testbed" replay 'mla1:2q2s30;cu=4' --property P12 \
  >"$scratch/out" 2>"$scratch/err"
code=$?
expect_exit 0

# A case that the machine turns out to be too small for is inconclusive, and the others are judged.
# A sanitizer needs terabytes.
if (ulimit -v 3000000 && "$testbed" --version) >"$scratch/out" 2>"$scratch/err"; then
  printf '%s\n' 'mla1:1q1s17' 'mla1:8q1024s128k' 'mla1:1q2s33' >"$scratch/large.txt"
  last='ulimit -v 3000000; mla-testbed run --cases-file large.txt --property P04 --memory-limit 900G'
  (ulimit -v 3000000
    "$testbed" run --cases-file "$scratch/large.txt" --property P04 --memory-limit 900G --no-progress
  ) >"$scratch/out" 2>"$scratch/err"
  code=$?
  expect_exit 4
  expect_out '^P04 +indptr_shape +2 '
  try run --cases-file "$scratch/large.txt" --property P04 --memory-limit 1G --no-progress
  expect_out 'mla1:8q1024s128k;.*: judging it needs about [0-9.]+ GiB .* lists [0-9.]+ GiB'
fi
