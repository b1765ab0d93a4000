#!/usr/bin/env bash
# `plants`: shards, an interrupted run that goes on, and a merge report what one run does.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$scratch" || exit 1
ids=(BUG-021 SEED-qo-arange BUG-001 BUG-017 BUG-041 BUG-064)

same() { cmp -s "$1" "$2" || { diff "$1" "$2" | head -20; fail "$2 differs from $1"; }; }

try plants "${ids[@]}" --no-progress --junit whole.xml --record whole.record
expect_exit 0
expect_out '^6 of 6 plants caught$'
cp out whole.txt
try plants "${ids[@]}" --no-progress --json
expect_exit 0
expect_json
expect_out '"verdict": "caught"'
cp out whole.json
grep -q '<testsuite name="plants" tests="6" failures="0" errors="0">' whole.xml ||
  fail 'expected six plants in JUnit'

# Any number of shards, one of them more than there are plants.
for n in 1 2 3 7; do
  records=()
  for ((i = n; i >= 1; i--)); do
    try plants "${ids[@]}" --no-progress --shard "$i/$n" --record "r$i.json"
    records+=("r$i.json")
  done
  try merge "${records[@]}" --junit merged.xml
  expect_exit 0
  same whole.txt out
  same whole.xml merged.xml
  try merge "${records[@]}" --json
  same whole.json out
done

# A shard that is not there, there twice, or of another run.
try merge r1.json r2.json --junit merged.xml
expect_exit 4
expect_err 'not there: 3/7 4/7'
expect_out '^interrupted: 2 of 6 plants were tried$'
grep -q '<testsuite name="plants" tests="6" failures="0" errors="4">' merged.xml ||
  fail 'expected four plants that were not tried in JUnit'
try merge r1.json r1.json
expect_exit 2
expect_err "'r1.json' is shard 1/7, which another file is too"
try merge r1.json whole.record
expect_exit 2
expect_err "'whole.record' is one of 1 shards; expected 7"
other() {
  try plants --no-progress --shard 2/7 --record other.json "${@:2}"
  try merge r1.json other.json
  expect_exit 2
  expect_err "'other.json' does not belong to 'r1.json': $1 differ"
}
other 'the seeds' "${ids[@]}" --seed 2
other 'the times of --for' "${ids[@]}" --for 61s
other 'the plants' "${ids[@]:1}"
try merge whole.record --html page.html
expect_exit 2
expect_err 'a run of plants has no --html'

# A plant that nothing caught fails the run, whichever shard had it.
# missed FILE CASES
missed() { sed -E 's/"cases":[0-9]+,"case":"[^"]*","block":"([^"\\]|\\.)*"/"cases":'"$2"',"case":"","block":""/' "$1"; }
missed r2.json 1 >m2.json
try merge m2.json r{1,3,4,5,6,7}.json --junit merged.xml
expect_exit 1
expect_out '^BUG-017 \(.*\): MISSED by P26 in [0-9]+ cases$'
expect_out '^BUG-017 +P26 .* MISSED  https://'
expect_out '^5 of 6 plants caught$'
grep -q '<failure message="MISSED by P26 in [0-9]* cases"/>' merged.xml ||
  fail 'a missed plant is no failure in JUnit'
try merge m2.json r{1,3,4,5,6,7}.json --json
expect_exit 1
expect_out '"verdict": "missed"'

# Without a case it is not known whether it is missed.
missed r2.json 0 >m2.json
try merge m2.json r{1,3,4,5,6,7}.json --junit merged.xml
expect_exit 4
expect_out '^BUG-017 \(.*\): inconclusive, --for ended before the first case$'
expect_out '^BUG-017 +P26 +0  inconclusive  https://'
grep -q '<testsuite name="plants" tests="6" failures="0" errors="1">' merged.xml ||
  fail 'an inconclusive plant is no error in JUnit'
try plants --for 0s BUG-017 --no-progress
expect_exit 4
expect_no_out MISSED
try plants --for 0s BUG-017 --no-progress --json
expect_exit 4
expect_out '"exit_code": 4'
expect_out '"verdict": "inconclusive"'

# A run that ended early goes on, and only what it lacks is tried: what it has stays.
sed -E 's/("block":")FAIL P26 /\1HELD P26 /; s/,\{"id":"BUG-064".*/]}/' whole.record >part.record
try merge part.record
expect_exit 4
expect_out '^interrupted: 4 of 6 plants were tried$'
try plants --no-progress --resume part.record
expect_exit 0
same <(sed 's/^FAIL P26 /HELD P26 /' whole.txt) out
try plants --resume part.record --seed 3
expect_exit 2
try plants --resume part.record BUG-021
expect_exit 2
sed 's/"build":"[^"]*"/"build":"0123"/' whole.record >old.json
try plants --resume old.json
expect_exit 2
expect_err "'old.json' was recorded by build 0123 of mla-testbed"
"$testbed" plants --no-progress --record cut.json --junit cut.xml >out 2>err &
pid=$!
for ((i = 0; i < 300; i++)); do grep -q ': caught$' out && break || sleep 0.1; done
kill -TERM $pid
wait $pid
code=$?
last='mla-testbed plants --record cut.json'
[[ $code -eq 0 || $code -eq 4 ]] || fail 'the interrupted run ended otherwise'
try merge cut.json --junit merged.xml
same cut.xml merged.xml

# Hostile records and options.
for damage in 's/"cases":[0-9]+/"cases":-1/' 's/"shard":\[0,1\]/"shard":[1,1]/' \
  's/"plants":\["BUG-001"/"plants":["<b>"/' 's/"plants":\["BUG-001"/"plants":["BUG-041","BUG-001"/' \
  's/\{"id":"BUG-001"/{"id":"BUG-017"/' 's/\{"id":"BUG-001"/{"id":"BUG-002"/' \
  's/"case":"mla1:/"case":"mla9:/' 's/"case":"[^"]*"/"case":""/' 's/"version":"[^"]*"/"version":"9"/' \
  's/"tried":/"tired":/' 's/"cases":[0-9]+/"cases":1e300/' 's/"for":/"for":-/' \
  's/"seed":/"seed":-/'; do
  sed -E "$damage" whole.record >bad.json
  cmp -s whole.record bad.json && fail "no such damage: $damage"
  try merge bad.json
  expect_exit 2
  expect_err "'bad.json' is no record of a plants run"
done
# The same where nothing was tried, so that only the head of the record can be wrong.
for damage in 's/"shard":\[0,1\]/"shard":[1,1]/' 's/"BUG-001","BUG-017"/"BUG-017","BUG-001"/' \
  's/"BUG-001","BUG-017"/"BUG-001","BUG-001"/'; do
  sed -E 's/"tried":.*/"tried":[]}/' whole.record | sed -E "$damage" >bad.json
  try merge bad.json
  expect_exit 2
  expect_err "'bad.json' is no record of a plants run"
done
sed 's/"block":"FAIL/"block":"\\u001b[31mFAIL/' whole.record >bad.json
try merge bad.json
expect_out '^\\x1B\[31mFAIL P12 '
try plants BUG-021 --record /nonexistent/r.json
expect_exit 3
try plants BUG-021 --record same.file --junit same.file
expect_exit 2
try plants --resume whole.record --record other.file --junit whole.record
expect_exit 2
expect_err "junit would overwrite 'whole.record', which --resume reads"
try plants --list --resume whole.record
expect_exit 0
[[ $(wc -l <out) -eq 6 ]] || fail 'expected the six plants of the record'
