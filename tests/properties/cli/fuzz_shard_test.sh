#!/usr/bin/env bash
# `fuzz --cases`: shards, an interrupted run that goes on, and a merge report what one run does.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$scratch" || exit 1
what=(--corpus "$root/fixtures/corpus" --target line --target capture --no-progress)

same() { cmp -s "$1" "$2" || { diff "$1" "$2" | head -20; fail "$2 differs from $1"; }; }

try fuzz "${what[@]}" --cases 500 --seed 3 --junit whole.xml --record whole.record
expect_exit 0
expect_out '^line +[0-9]+ +0  held$'
cp out whole.txt
try fuzz "${what[@]}" --cases 500 --seed 3 --json
expect_json
cp out whole.json
inputs=$(grep -o '"inputs": [0-9]*' whole.json | awk '{s += $2} END {print s}')
[[ $inputs -gt 1500 ]] || fail "expected the corpora and 1000 made inputs, not $inputs"

# Any number of shards, one of them more than there are inputs.
for n in 1 2 3 7; do
  records=()
  judged=0
  for ((i = n; i >= 1; i--)); do
    try fuzz "${what[@]}" --cases 500 --seed 3 --shard "$i/$n" --record "r$i.json" --json
    expect_exit 0
    judged=$((judged + $(grep -o '"judged": [0-9]*' out | awk '{s += $2} END {print s}')))
    records+=("r$i.json")
  done
  [[ $judged -eq $inputs ]] || fail "$n shards judged $judged of $inputs inputs"
  try merge "${records[@]}" --junit merged.xml
  expect_exit 0
  same whole.txt out
  same whole.xml merged.xml
  try merge "${records[@]}" --json
  same whole.json out
done
try fuzz "${what[@]}" --cases 0 --shard 9999/9999 --record none.json
expect_exit 4
expect_out 'nothing ran'

# A shard that is not there, there twice, or of another run.
try merge r1.json r2.json
expect_exit 4
expect_err 'not there: 3/7 4/7'
expect_out '^interrupted: '
try merge r1.json r1.json
expect_exit 2
expect_err "'r1.json' is shard 1/7, which another file is too"
try merge r1.json whole.record
expect_exit 2
expect_err "'whole.record' is one of 1 shards; expected 7"
try fuzz "${what[@]}" --cases 500 --seed 4 --shard 2/7 --record other.json
try merge r1.json other.json
expect_exit 2
expect_err 'the seeds differ'
try fuzz "${what[@]}" --cases 501 --seed 3 --shard 2/7 --record other.json
try merge r1.json other.json
expect_exit 2
expect_err 'the numbers of inputs differ'
try merge whole.record --html page.html
expect_exit 2

# Another build's record.
sed 's/"build":"[^"]*"/"build":"0123"/' r1.json >old.json
try fuzz --resume old.json
expect_exit 2
expect_err "'old.json' was recorded by build 0123 of mla-testbed"
try merge r2.json old.json
expect_err "'old.json' and 'r2.json' were recorded by different builds"

# Findings, as a record says that there were: each in the report, the exit code is 1.
found='"failed":2,"findings":[{"number":0,"input":"<x>","what":"a"},{"number":3,"input":"y","what":"b"}]'
sed "s/\"failed\":0,\"findings\":\[\]/$found/" whole.record >failed.record
try merge failed.record --junit failed.xml
expect_exit 1
expect_out '^FAIL line <x>$'
expect_out '^REPRO: mla-testbed fuzz --target line --seed 3 --number 3$'
grep -q '&lt;x&gt;' failed.xml || fail 'a finding is not escaped in JUnit'

sed 's/"what":"a"/"what":"\\u001b[31m"/' failed.record >bad.record
try merge bad.record
expect_exit 1
expect_out '^  \\x1B\[31m$'

# The input of a number is the same, whatever the number of cases; one input is judged.
try fuzz "${what[@]}" --seed 3 --number 600
expect_exit 0
expect_out '^line +1 +0  held$'

# A run that ended early goes on: here a record of which a part is taken away.
sed -E 's/"judged":([0-9]+)/"judged":7/' whole.record >part.record
try merge part.record
expect_exit 4
try fuzz --corpus "$root/fixtures/corpus" --no-progress --resume part.record
expect_exit 0
same whole.txt out
same whole.record part.record
try fuzz --resume part.record --cases 3
expect_exit 2
mkdir -p empty/line empty/capture
try fuzz --corpus empty --no-progress --resume part.record
expect_exit 2
expect_err 'is of another corpus of target line'
"$testbed" fuzz --corpus "$root/fixtures/corpus" --target line --no-progress --cases 900000000 \
  --record cut.json >out 2>err &
pid=$!
sleep 2
kill -TERM $pid
wait $pid
code=$?
expect_exit 4
expect_out '^interrupted: [0-9]+ of 900000[0-9]+ inputs were judged$'
grep -q '"judged":[1-9]' cut.json || fail 'the interrupted run recorded nothing'

# Hostile records and options.
for damage in 's/"judged":[0-9]*/"judged":-1/' 's/"judged":[0-9]*/"judged":99999999/' \
  's/"shard":\[0,1\]/"shard":[1,1]/' 's/"name":"line"/"name":"<b>"/' \
  's/"failed":0/"failed":1/' 's/"version":"[^"]*"/"version":"9"/' 's/"inputs":/"imputs":/' \
  's/"name":"capture"/"name":"line"/'; do
  sed -E "$damage" whole.record >bad.json
  cmp -s whole.record bad.json && fail "no such damage: $damage"
  try merge bad.json
  expect_exit 2
  expect_err "'bad.json' is no record of a fuzz run"
done
try fuzz --shard 1/2
expect_exit 2
expect_err 'add --cases N'
try fuzz --cases 5 --for 3s
expect_exit 2
try fuzz --cases 5 --corpus nowhere
expect_exit 3
expect_err "neither 'nowhere/batch.tar.gz' nor a folder"
# A target that is named twice is one; a report takes the place of no corpus.
try fuzz --cases 5 "${what[@]}" --target line --record twice.json
expect_exit 0
try merge twice.json
expect_exit 0
mkdir own
cp "$root/fixtures/corpus/line.tar.gz" own
try fuzz --cases 5 --target line --corpus own --junit own/line.tar.gz
expect_exit 2
expect_err "--junit would overwrite 'own/line.tar.gz', which --corpus reads"
cmp own/line.tar.gz "$root/fixtures/corpus/line.tar.gz" || fail 'the corpus was overwritten'
try fuzz --cases 5 --shard 3/2 "${what[@]}"
expect_exit 2
try fuzz --cases 5 "${what[@]}" --record /nonexistent/r.json
expect_exit 3

# An archive of a folder with a colon lies here, and not on another machine.
mkdir c:x
cp "$root/fixtures/corpus/line.tar.gz" c:x
try fuzz --cases 5 --target line --corpus c:x --no-progress
expect_exit 0

# Archives are unpacked where TMPDIR says, if it says something.
TMPDIR=/nonexistent try fuzz --cases 5 "${what[@]}"
expect_exit 3
expect_err "no folder can be made in '/nonexistent': No such file or directory; TMPDIR names"
TMPDIR='' try fuzz --cases 5 "${what[@]}"
expect_exit 0

# A signal while an archive is unpacked ends the run, as later, and leaves nothing there.
mkdir slow temporary
printf '#!/bin/sh\n: >unpacking; sleep 0.5; PATH=${PATH#*:} exec tar "$@"\n' >slow/tar
chmod +x slow/tar
for signal in INT TERM HUP; do
  rm -f unpacking
  last="mla-testbed fuzz, SIG$signal"
  # A shell ignores SIGINT for its background jobs.
  PATH=$PWD/slow:$PATH TMPDIR=$PWD/temporary "$testbed" fuzz --cases 50000 "${what[@]}" >out 2>err &
  for ((i = 0; i < 200; i++)); do
    [[ -e unpacking ]] && break
    sleep 0.05
  done
  kill "-$signal" $!
  wait $!
  code=$?
  expect_exit 4
  expect_out '^interrupted: 0 of '
  [[ -z $(ls temporary) ]] || fail 'the archive was left'
done
