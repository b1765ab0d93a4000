#!/usr/bin/env bash
# `run --shard`, `--record`, `--resume` and `merge`: parts of a run give the report of the whole run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# The whole run. P00 fails for a case in a hundred, others hold or skip.
printf 'mla1:1q1s%s\n' 5 900 17 >given.txt
what=(--cases 60 --seed 1 --property P00,P04,P05,P12 --cases-file given.txt)
try run "${what[@]}" --no-progress --junit whole.xml
expect_exit 1
cp out whole.txt
try run "${what[@]}" --no-progress --json
expect_exit 1
cp out whole.json
grep -q '"block": "FAIL P00' whole.json || fail 'the whole run found no failure'

# Any number of shards, one of them more than there are cases.
for n in 1 2 3 70; do
  records=()
  cases=0
  for ((i = n; i >= 1; i--)); do
    try run "${what[@]}" --no-progress --json --shard "$i/$n" --record "r$i.json"
    [[ $code -eq 0 || $code -eq 1 || $code -eq 4 ]] || fail "shard $i/$n ended with $code"
    cases=$((cases + $(grep -o '"cases": [0-9]*' out | head -1 | tr -dc 0-9)))
    records+=("r$i.json")
  done
  # A shard stops at its own failures of every property, which these four do not have.
  [[ $cases -eq 63 ]] || fail "$n shards judged $cases of 63 cases"
  try merge "${records[@]}" --no-progress --json
  expect_exit 1
  same_but_times whole.json out
done
try merge r{1..70}.json --no-progress --junit merged.xml
same_but_times whole.txt out
same_but_times whole.xml merged.xml

# Refused steps are counted in the merge, though P01 holds without a step.
printf 'mla1:1q1s%s;kind=fa;heads=6;kvheads=4\n' 4 5 6 >refused.txt
what=(--cases 0 --cases-file refused.txt --property P01,P28,P31)
try run "${what[@]}" --no-progress --json
grep -q '"refused": 3' out || fail 'the whole run has not three refused cases'
cp out whole.json
for i in 1 2; do
  try run "${what[@]}" --no-progress --shard $i/2 --record "f$i.json"
done
try merge f1.json f2.json --no-progress --json
same_but_times whole.json out

# Without a failure, with the canary's known ones.
try run --cases 25 --seed 5 --no-progress --json
expect_exit 0
cp out whole.json
# What is reported does not decide what is judged: one shard has its times.
timing=('' --timing '')
for i in 1 2; do
  try run --cases 25 --seed 5 --no-progress --shard $i/2 --record "k$i.json" \
    ${timing[i]:+"${timing[i]}"}
done
try merge k2.json k1.json --json --no-progress
expect_exit 0
same_but_times whole.json out

# The time of a merged run is that of all its shards.
for i in 1 2; do sed -E 's/"seconds":[0-9.e+-]+/"seconds":1000.0/' "k$i.json" >"slow$i.json"; done
try merge slow1.json slow2.json --no-progress
expect_out '^backend cpu: 25 cases .*in 20[0-9]{2}'

# A shard that is not there, there twice, of another run, or of another number of shards.
try merge k1.json --no-progress
expect_exit 4
expect_err 'not there: 2/2'
expect_out '^interrupted: 13 of 25 cases were judged'
try merge k1.json k1.json
expect_exit 2
expect_err "'k1.json' is shard 1/2, which another file is too"
try run --cases 25 --seed 6 --no-progress --shard 2/2 --record other.json
try merge k1.json other.json
expect_exit 2
expect_err "'other.json' does not belong to 'k1.json': the options of the run differ"
try merge k1.json r1.json
expect_exit 2
try run --cases-file given.txt --property P04 --no-progress --record given.json
echo 'mla1:1q1s6' >>given.txt
try merge given.json
expect_exit 2
expect_err 'the record is of another run: its cases, properties or ledger'

# Hostile records.
try merge nowhere.json
expect_exit 3
for damage in 's/"i":0/"i":-1/' 's/"v":"/"v":"?/' 's/"shard":\[0,2\]/"shard":[2,2]/' \
  's/"format":"[^"]*"/"format":"x"/' 's/"version":"[^"]*"/"version":"9"/' 's/"texts":\[/"texts":[1,/' \
  's/"m":\[\[[0-9]+,/"m":[[999,/' 's/"launches":\[.*"backends"/"launches":[],"backends"/'; do
  sed -E "$damage" k1.json >bad.json
  cmp -s k1.json bad.json && fail "no such damage: $damage"
  try merge bad.json k2.json
  expect_exit 2
  expect_err "'bad.json' is no record of a run"
done
# An index far beyond the cases, and a ledger entry that is not there.
sed -E 's/"i":0,/"i":999999999,/' k1.json >bad.json
try merge bad.json k2.json
expect_exit 2
expect_err 'case 999999999 is not below'
sed -E 's/"k":\[\[([0-9]+),0\]/"k":[[\1,77]/g; s/"c":\[\[([0-9]+),0\]/"c":[[\1,77]/g' k1.json >bad.json
try merge bad.json k2.json --no-progress --json
expect_exit 0
same_but_times whole.json out
sed 's/"arguments":\[/"arguments":["--json",/' k1.json >bad.json
try merge bad.json
expect_exit 2
expect_err 'decide nothing'
try merge "$root/README.md"
expect_exit 2
# Escape sequences in a record do not reach the terminal.
sed 's/"texts":\["/&\\u001b[31m/; s/"launches":\[\["cpu","/&\\u001b[31m/' k1.json >bad.json
try merge bad.json k2.json --no-progress
expect_out 'cpu on \\x1B\[31m'

# What --shard takes.
for shard in 0/3 4/3 1 1/0 a/b 1/3/5 -1/3; do
  try run --cases 5 "--shard=$shard"
  expect_exit 2
  expect_err "shard has value '"
done

# The same options over another content of the same file are another run.
printf 'mla1:1q1s40\n' >cases.txt
try run --cases-file cases.txt --property P04 --no-progress --shard 1/2 --record first.json
printf 'mla1:1q1s41\n' >cases.txt
try run --cases-file cases.txt --property P04 --no-progress --shard 2/2 --record second.json
try merge first.json second.json
expect_exit 2
expect_err "'second.json' does not belong to 'first.json': cases, properties or ledger differ"
# So are those over another content of the same ledger, whatever of an entry was changed.
cat >ledger.json <<'END'
{"format": "mla-testbed ledger 2", "entries": [{"id": "X-1", "link": "x", "mechanism": "x",
 "kernels": ["k"], "status": "fails", "kind": "decode", "properties": ["P04", "P05"],
 "damage": ["claim"], "claims": ["P04"], "where": {"page": 1},
 "witnesses": [{"case": "mla1:1q1s5", "property": "P04"}]}]}
END
printf 'mla1:1q1s40\nmla1:1q1s41\n' >cases.txt
of_ledger=(--cases-file cases.txt --property P05 --ledger ledger.json --no-progress)
try run "${of_ledger[@]}" --shard 1/2 --record first.json
cp ledger.json as_it_was.json
for change in 's/"link": "x"/"link": "y"/' 's/"k"/"l"/' 's/fails/intermittent/' 's/"kind": "decode", //' \
  's/, "P05"\]/]/' 's/"damage": \["claim"/&, "nan"/' 's/"claims": \["P04"\]/"claims": []/' \
  's/"page": 1/"page": 2/' 's/"page": 1/"page": {"min": 1}/' 's/"page": 1/"heads": 1/' \
  's/"property": "P04"/"property": "P05"/'; do
  sed -E "$change" as_it_was.json >ledger.json
  cmp -s as_it_was.json ledger.json && fail "no such change: $change"
  try run "${of_ledger[@]}" --shard 2/2 --record second.json
  try merge first.json second.json
  expect_exit 2
  expect_err 'cases, properties or ledger differ'
  try merge first.json
  expect_exit 2
  expect_err 'the record is of another run: its cases, properties or ledger'
  try run --resume first.json --no-progress
  expect_exit 2
  expect_err 'the record is of another run: its cases, properties or ledger'
done
cp as_it_was.json ledger.json
try run "${of_ledger[@]}" --shard 2/2 --record second.json
try merge first.json second.json --no-progress
expect_exit 0

# A run that is interrupted goes on where it ended, and reports as if nothing had happened.
what=(--cases 150 --seed 2 --property P04,P05)
try run "${what[@]}" --no-progress --json
cp out whole.json
"$testbed" run "${what[@]}" --no-progress --json --record part.json >out 2>err &
pid=$!
sleep 0.7
kill -INT $pid 2>/dev/null
wait $pid
code=$?
[[ $code -eq 0 || $code -eq 4 ]] || fail "the interrupted run ended with $code"
try run --resume part.json --no-progress --json
expect_exit 0
same_but_times whole.json out
try merge part.json --no-progress --json
same_but_times whole.json out
# What another build recorded is not gone on with, and a merge says so.
sed -E 's/"build":"[^"]*"/"build":"0123"/' part.json >old.json
try run --resume old.json --no-progress
expect_exit 2
expect_err "'old.json' was recorded by build 0123 of mla-testbed, this is [0-9a-f]{8,}: start again"
sed -E 's/"build":"[^"]*"/"build":"0123"/' k2.json >old.json
try merge k1.json old.json --no-progress
expect_exit 0
expect_err "'old.json' and 'k1.json' were recorded by different builds"
try merge k1.json k2.json --no-progress
expect_no_err 'different builds'
# Where AITER lies says nothing about what is judged, and may be in the environment.
AITER_HSA=/elsewhere try run --resume part.json --no-progress --json
expect_exit 0
same_but_times whole.json out
AITER_HSA=/elsewhere try merge part.json --no-progress --json
same_but_times whole.json out
try run --resume part.json --seed 3
expect_exit 2
expect_err 'leave out --seed'
try run --resume part.json --shard 1/2
expect_exit 2
expect_err 'leave out --shard'
# The same with a run that has judged a third: it is certain that something is left.
try run "${what[@]}" --no-progress --shard 1/3 --record third.json
sed -E 's/"shard":\[0,3\]/"shard":[0,1]/' third.json >part.json
try run --resume part.json --no-progress --json --record whole.record
expect_exit 0
same_but_times whole.json out
grep -q '"i":149' whole.record || fail 'the new record lacks the last case'

# A run whose time is used up counts, when it goes on, all that it found.
try run --for 2s --property P00,P04 --seed 5 --no-progress --record timed.json
expect_exit 1
judged=$(grep -o '"i":' timed.json | wc -l)
sed -E 's/"seconds":[0-9.]+/"seconds":9/' timed.json >late.json
try run --resume late.json --no-progress
expect_exit 1
expect_out '^FAIL P00 '
expect_out "^backend cpu: $judged cases"
# A case that was too large is judged where there is more memory.
try run --cases 3 --property P04 --memory-limit 1K --no-progress --record small.json
expect_exit 4
try run --resume small.json --no-progress
expect_exit 0
expect_no_out 'may take'

# Records that were damaged: a case that the run does not have, and a place too few.
sed -E 's/"i":149,/"i":150,/' whole.record >150.json
for command in merge 'run --resume'; do
  try $command 150.json --no-progress
  expect_exit 2
  expect_err 'the record has case 150, and the run has 150, counted from 0'
done
sed -E 's/(.*)"v":"./\1"v":"/' k1.json >short.json
try merge short.json k2.json
expect_exit 2
expect_err "'short.json' .*case [0-9]+ has verdicts of [0-9]+ properties, others of [0-9]+"

# Damage that would hide a failure: a case of another shard, one that is there twice or was lost, a
# backend that is there twice or was lost.
damaged() { # FILE STATEMENT: FILE, whose record r the statement changes, as bad.json
  python3 - "$1" "$2" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
cases = r["backends"][0]["cases"]
exec(sys.argv[2])
json.dump(r, open("bad.json", "w"), separators=(",", ":"))
END
}
refused() { # FILE STATEMENT MESSAGE
  damaged "$1" "$2"
  try merge bad.json k2.json --no-progress
  expect_exit 2
  expect_silent out
  expect_err "^mla-testbed merge: 'bad.json' is no record of a run: $3$"
}
refused k1.json 'cases[3]["i"] = 7' 'case 7 is none of shard 1/2'
refused k1.json 'cases[3]["i"] = 2' "case 2 of backend 'cpu' is there twice"
refused k1.json 'del cases[3]' "of backend 'cpu' it has 12 cases, and 'count' is 13"
refused k1.json 'cases.append(cases[3])' "of backend 'cpu' it has 14 cases, and 'count' is 13"
refused k1.json 'r["backends"].append(r["backends"][0])' "backend 'cpu' is there twice"
# A run that was cut has fewer cases, and says how many.
damaged k1.json 'del cases[3]; r["backends"][0]["count"] -= 1'
try merge bad.json k2.json --no-progress
expect_exit 4
expect_out '^interrupted: 24 of 25 cases were judged'
for i in 1 2; do
  try run --cases 4 --property P04 --backend cpu,cpu-portable --no-progress --shard $i/2 \
    --record "two$i.json"
done
damaged two2.json 'del r["backends"][1]'
try merge two1.json bad.json
expect_exit 2
expect_err "'bad.json' does not belong to 'two1.json': the backends differ"

# Where AITER lies on the machine that merges.
damaged k1.json 'r["arguments"][:0] = ["--backend=aiter", "--device=emulated:gfx942"]'
AITER_HSA= try merge bad.json
expect_exit 3
expect_err '^mla-testbed merge: backend .aiter. needs .*--aiter-hsa DIR'
try merge bad.json --aiter-hsa here/hsa
expect_exit 3
expect_err '^mla-testbed merge: there is no here/hsa/gfx942/mla/mla_asm.csv'
damaged k1.json 'r["command"] = "cross-check"
r["arguments"] = ["--device=emulated:gfx942", "--backend=aiter"]'
try merge bad.json --aiter-hsa here/hsa
expect_exit 3
expect_err '^mla-testbed merge: there is no here/hsa/gfx942/mla/mla_asm.csv'
try merge k1.json k2.json --aiter-hsa here/hsa
expect_exit 2
expect_err '--aiter-hsa here/hsa goes with backend aiter'
try plants BUG-021 --record plants.json --no-progress
try merge plants.json --aiter-hsa here/hsa
expect_exit 2
expect_err '--aiter-hsa here/hsa goes with backend aiter, and a run of plants has none'

# Reports and records have names of their own; the record alone may take the place of the old one.
for option in --junit --html; do
  try merge k1.json k2.json "$option" ./k2.json
  expect_exit 2
  expect_err "^mla-testbed merge: $option would overwrite 'k2.json', which merge reads"
  try run --resume part.json "$option" part.json
  expect_exit 2
  try run --resume part.json --record other.json "$option" part.json
  expect_exit 2
  expect_err "$option would overwrite 'part.json', which --resume reads"
done

# What merge refuses, merge says, in words.
try merge k1.json k2.json --memory-limit 1X
expect_exit 2
expect_err '^mla-testbed merge: --memory-limit has value'
printf '{}' >none.json
sed -E 's/"identity":"[^"]*"/"identity":7/' k1.json >typed.json
refuses() { # FILE WHY
  try merge "$1"
  expect_exit 2
  expect_err "^mla-testbed merge: '$1' is no record of a run: $2$"
}
refuses none.json "key 'format' is missing"
refuses typed.json "key 'identity' is 7: it must be a string"
