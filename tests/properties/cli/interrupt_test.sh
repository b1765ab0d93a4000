#!/usr/bin/env bash
# Runs that are ended early: by a signal, by time, by a reader who left, by a disk that is full.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# A run of an hour does not outlive the test.
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT

# Starts the command, sends the signal once the pattern is in its output, and waits:
# interrupt SIGNAL PATTERN ARGUMENTS...
interrupt() {
  last="mla-testbed ${*:3}, then SIG$1"
  code=-1
  # What the command before printed is not seen while the shell has not opened the files again.
  : >"$scratch/out" 2>"$scratch/err"
  "$testbed" "${@:3}" >"$scratch/out" 2>"$scratch/err" </dev/null &
  local pid=$!
  for _ in {1..600}; do
    grep -qE -- "$2" "$scratch/out" "$scratch/err" && break
    sleep 0.1
  done
  grep -qE -- "$2" "$scratch/out" "$scratch/err" || fail "never printed: $2"
  kill "-$1" "$pid"
  wait "$pid"
  code=$?
}

xml_is_whole() {
  [[ $(tail -n 1 "$1") == '</testsuites>' ]] || fail "$1 is no whole JUnit report"
  [[ $(grep -c '<testsuite ' "$1") -eq $(grep -c '</testsuite>' "$1") ]] || fail "$1 is cut"
}

# P00 fails for one case in a hundred, and soon; P04 goes on after that, without end.
printf 'mla1:1q1s%s\n' {1..400} >"$scratch/small.txt"
interrupt INT '^FAIL P00 mla1:' run --for 1h --property P00,P04 --cases-file "$scratch/small.txt" \
  --junit "$scratch/report.xml"
expect_exit 1
expect_err 'interrupted; the reports follow'
expect_out '^interrupted: [0-9]+ of 400 cases were judged$'
expect_out '^P04 .* pass$'
expect_out '^verdict: a property failed \(exit 1\)$'
[[ $(grep -c '^FAIL' "$scratch/out") -eq 1 ]] || fail 'expected one block'
xml_is_whole "$scratch/report.xml"
grep -q 'name="interrupted"' "$scratch/report.xml" || fail 'the JUnit report does not say it'
grep -q '<failure ' "$scratch/report.xml" || fail 'the JUnit report lacks the failure'
[[ -z $(find "$scratch" -name 'report.xml.*') ]] || fail 'a temporary file was left'

# The REPRO line of an interrupted run fails again.
repro=$(sed -n 's/^REPRO: mla-testbed //p' "$scratch/out")
eval "try $repro"
expect_exit 1

# In JSON mode the blocks go to stderr as they come, and stdout is one whole object.
interrupt TERM '^FAIL P00 mla1:' run --cases 900000000 --property P00,P04 \
  --cases-file "$scratch/small.txt" --json
expect_exit 1
expect_json
expect_out '"interrupted": true'
expect_out '"wanted": 900000400'

# Nothing failed: inconclusive.
mkfifo "$scratch/gate"
(sleep 1; cat "$root/fixtures/cases/smoke.txt") >"$scratch/gate" &
"$testbed" run --for 1h --property P04 --cases-file "$scratch/gate" >"$scratch/out" 2>"$scratch/err" &
pid=$!
last='mla-testbed run --for 1h, then SIGTERM'
sleep 2.5
kill -TERM "$pid"
wait "$pid"
code=$?
expect_exit 4
expect_out '^interrupted: [0-9]+ of [0-9]+ cases were judged$'
expect_out '^verdict: inconclusive \(exit 4\)$'

# A closed terminal, which may send SIGHUP twice, loses nothing; under nohup it ends nothing.
interrupt HUP '^FAIL P00 mla1:' run --for 1h --property P00,P04 --no-progress \
  --cases-file "$scratch/small.txt" --junit "$scratch/hup.xml" --record "$scratch/hup.json"
expect_exit 1
xml_is_whole "$scratch/hup.xml"
[[ -s $scratch/hup.json ]] || fail 'there is no record after SIGHUP'
(
  trap '' HUP
  exec "$testbed" run --for 5s --property P04 >"$scratch/out" 2>"$scratch/err"
) &
pid=$!
last='nohup mla-testbed run --for 5s, then SIGHUP'
sleep 2
kill -HUP "$pid"
wait "$pid"
code=$?
expect_exit 0
expect_no_err 'interrupted'

# `timeout` signals the command and then its group: two signals at once are one request, and both
# are delivered, since they are of two kinds.
"$testbed" run --for 1h --property P00,P04 --no-progress --cases-file "$scratch/small.txt" \
  --junit "$scratch/twice.xml" --record "$scratch/twice.json" >"$scratch/out" 2>"$scratch/err" &
pid=$!
last='mla-testbed run --for 1h, then SIGINT and SIGTERM at once'
for _ in {1..600}; do
  grep -q '^FAIL P00' "$scratch/out" && break
  sleep 0.1
done
kill -INT "$pid"
kill -TERM "$pid"
wait "$pid"
code=$?
expect_exit 1
expect_out '^verdict: a property failed \(exit 1\)$'
xml_is_whole "$scratch/twice.xml"
[[ -s $scratch/twice.json ]] || fail 'there is no record after two signals at once'
last='timeout 3 mla-testbed run --for 1h'
timeout 3 "$testbed" run --for 1h --property P04 --no-progress --junit "$scratch/timeout.xml" \
  --record "$scratch/timeout.json" >"$scratch/out" 2>"$scratch/err" </dev/null
code=$?
expect_exit 124
expect_out '^verdict: inconclusive \(exit 4\)$'
xml_is_whole "$scratch/timeout.xml"
[[ -s $scratch/timeout.json ]] || fail 'there is no record after timeout'

# A second signal more than half a second after the first ends at once, within a property that takes
# a quarter of a minute or more on one core.
OMP_NUM_THREADS=1 "$testbed" replay 'mla1:1q1024s8k;heads=128;arch=gfx950' --property P05 --any-size \
  >"$scratch/out" 2>"$scratch/err" </dev/null &
pid=$!
last='mla-testbed replay of a large case, then SIGTERM twice'
for _ in {1..600}; do  # until the command, and no shell before it, catches SIGTERM, bit 14
  caught=$(awk '/^Name:/ { name = $2 } /^SigCgt/ && name == "mla-testbed" { print $2 }' \
    "/proc/$pid/status")
  ((16#${caught:-0} >> 14 & 1)) && break
  sleep 0.1
done
kill -TERM "$pid"
for _ in {1..100}; do
  grep -q 'interrupted; the reports follow' "$scratch/err" && break
  sleep 0.1
done
sleep 1
kill -TERM "$pid"
wait "$pid"
code=$?
expect_exit 143
expect_silent out
expect_err 'interrupted; the reports follow'

# The time was over: what was found is there.
head -n 400 < <(yes 'mla1:9q1s3k;heads=128') >"$scratch/many.txt"
printf 'mla1:1q2s2\n' >>"$scratch/many.txt"
try run --for 300ms --cases-file "$scratch/many.txt" --property P05 --json
expect_exit 4
expect_json
expect_out '"gave_up": true'
try run --for 300ms --cases-file "$scratch/many.txt" --property P05
expect_out '^gave up: the time was over when [0-9]+ of 401 cases were judged$'

# A reader who leaves early costs no report.
last='mla-testbed run | head -n 1'
"$testbed" run --cases-file "$scratch/small.txt" --property P00,P04 --junit "$scratch/head.xml" 2>"$scratch/err" |
  head -n 1 >"$scratch/out"
code=${PIPESTATUS[0]}
expect_exit 1
expect_err "^wrote .*head\.xml, [0-9]+ KiB$"
[[ $(wc -l <"$scratch/err") -eq 1 ]] || fail "expected one line on stderr"
expect_out '^FAIL P00'
xml_is_whole "$scratch/head.xml"

# A full disk keeps back one report, not the others.
last='mla-testbed run >/dev/full'
"$testbed" run --cases-file "$scratch/small.txt" --property P00,P04 --junit "$scratch/full.xml" \
  >/dev/full 2>"$scratch/err"
code=$?
expect_exit 3
expect_err 'cannot write to stdout'
xml_is_whole "$scratch/full.xml"
try run --cases 5 --property P04 --junit /dev/full
expect_exit 3
expect_err "cannot write '/dev/full'"
expect_out '^P04 .* pass$'

# So does a limit on the size of files, and no temporary file is left. The thread sanitizer keeps
# shadows of constants in a file, and does not get past the limit.
if ! "$testbed" env | grep -q '^sanitizers .*thread'; then
  last='ulimit -f 1; mla-testbed run --junit'
  (
    ulimit -f 1
    exec "$testbed" run --cases 60 --json --property P04,P05,P08 --no-progress \
      --cases-file "$scratch/small.txt" --record "$scratch/limited.json" 2>"$scratch/err"
  ) | cat >"$scratch/out"
  code=${PIPESTATUS[0]}
  expect_exit 3
  expect_err "cannot write '.*limited.json': File too large"
  [[ -z $(find "$scratch" -name 'limited.json*') ]] || fail 'a part of the record was left'
else
  echo 'left out: the thread sanitizer does not start where files are limited'
fi

# A report that could not be written is refused before the run, not after it.
try run --for 1h --property P04 --junit "$scratch/no/such/folder.xml"
expect_exit 3
expect_silent out
try run --for 1h --property P04 --junit "$scratch"
expect_exit 3
expect_err 'Is a directory'
# An older report stays as it is until there is a new one, links and rights included.
printf 'old' >"$scratch/real.xml"
chmod 640 "$scratch/real.xml"
ln -s real.xml "$scratch/link.xml"
try run --cases 5 --property P04 --junit "$scratch/link.xml"
expect_exit 0
xml_is_whole "$scratch/real.xml"
[[ -L $scratch/link.xml ]] || fail 'the link was replaced'
[[ $(stat -c %a "$scratch/real.xml") == 640 ]] || fail 'the rights changed'

# plants and replay.
interrupt INT 'caught$' plants --for 60s
expect_exit 4
expect_out '^interrupted: [0-9]+ of [0-9]+ plants were tried$'
