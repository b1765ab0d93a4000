#!/usr/bin/env bash
# What a command writes: a file that cannot be written costs neither a verdict nor what was there
# before, and no two outputs are one file.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$scratch" || exit 1
cpu='mla1:2q4s40;heads=8'

# A full disk keeps back one output, and all others are written: exit 3.
try replay "$cpu" --property P12 --html /dev/full
expect_exit 3
expect_err "^mla-testbed replay: cannot write '/dev/full'"
expect_out '^P12 .*: pass$'
try replay "$cpu" --property P12 --plant SEED-qo-arange --html /dev/full
expect_exit 3
expect_out '^FAIL P12'
expect_out '^P12 .*: fail$'
try replay "$root/fixtures/bundles/kernel" --html /dev/full
expect_exit 3
expect_out '^at fault: '
try check "$root/fixtures/bundles/heads" --html /dev/full
expect_exit 3
expect_out ' violations?$'
try show "$cpu" --against 'mla1:2q4s44;heads=8' --html /dev/full
expect_exit 3
[[ -s out ]] || fail 'no comparison'
try show "$cpu" --html /dev/full --svg plan.svg
expect_exit 3
grep -q '</svg>' plan.svg || fail 'no picture'
expect_no_err '^wrote /dev/full'
try plants SEED-qo-arange --for 10s --no-progress --json --record /dev/full --junit plants.xml
expect_exit 3
expect_json
grep -q '</testsuites>' plants.xml || fail 'no JUnit'
try run --cases 200 --property P00 --no-progress --json --junit /dev/full
expect_exit 3
expect_out '"exit_code": 1'
corpus=(--corpus "$root/fixtures/corpus" --target line --cases 5 --no-progress)
try fuzz "${corpus[@]}" --record /dev/full --junit fuzz.xml
expect_exit 3
expect_out '^line .* held$'
grep -q '</testsuites>' fuzz.xml || fail 'no JUnit'
try fuzz "${corpus[@]}" --record fuzz.json
try merge fuzz.json --junit /dev/full
expect_exit 3
expect_out '^line .* held$'

# Nor does a closed stdout keep back a page.
last='mla-testbed replay --html page.html >&-'
"$testbed" replay "$cpu" --property P12 --plant SEED-qo-arange --html page.html >&- 2>err
code=$?
expect_exit 3
expect_err 'cannot write to stdout'
[[ $(grep -c 'cannot write' err) == 1 ]] || fail 'stdout was lost twice'
grep -q '</html>' page.html || fail 'no page'
last='mla-testbed plants --junit >&-'
"$testbed" plants SEED-qo-arange BUG-021 --for 60s --no-progress --junit both.xml >&- 2>err
code=$?
expect_exit 3
[[ $(grep -c '<testcase' both.xml) == 2 ]] || fail 'plants were not tried'
! grep -q '<error' both.xml || fail 'plants were not tried'

# Nor does a trace of a workgroup that no launch had.
device=(--property P24 --backend hip --device emulated:gfx942)
try replay 'mla1:1q1s17;cu=4' "${device[@]}"
if ! grep -q 'has no code' out; then
  try replay 'mla1:1q1s17;cu=4' "${device[@]}" --annotate /dev/full
  expect_exit 3
  expect_out '^P24 .*: pass$'
  try replay 'mla1:1q1s17;cu=4' "${device[@]}" --trace t.json --trace-workgroup 999,0,0
  expect_exit 2
  expect_err 'no launch had a workgroup 999,0,0'
  expect_out '^P24 .*: pass$'
fi

# A path that takes no file is refused before the work.
for command in "show $cpu --html" "show $cpu --against $cpu --html" 'check absent.json --html' \
  'merge fuzz.json --junit'; do
  # shellcheck disable=SC2086
  try $command no/such/folder/x
  expect_exit 3
  expect_err "cannot write 'no/such/folder/x': No such file"
  expect_silent out
done

# Two names of one file that is not there yet.
mkdir d1
ln -s d1 d2
ln -s n2 n3
for pair in 'd1/x d2/x' 'n2 n3' 'n3 ./n2' 'd1/../n2 n3'; do
  read -r a b <<<"$pair"
  try run --cases 2 --property P05 --no-progress --junit "$a" --record "$b"
  expect_exit 2
  expect_err 'both write'
done
# A link is followed, also to a file that is not there yet; one in a circle leads nowhere.
try run --cases 20 --property P05 --no-progress --record n3
expect_exit 0
[[ -L n3 && -s n2 && ! -L n2 ]] || fail 'the link was replaced'
ln -s c1 c2
ln -s c2 c1
try run --cases 2 --property P05 --no-progress --record c1
expect_exit 3
expect_err 'Too many levels of symbolic links'
[[ -L c1 ]] || fail 'the link was replaced'

# --output is no file of the bundle.
mkdir old
ln -s old link
for folder in new old link; do
  try plan "$cpu" --bundle "$folder" --output old/../"$folder"/manifest.json
  expect_exit 2
  expect_err '--output and --bundle write the same file'
done

if "$testbed" env | grep -q '^sanitizers .*thread'; then
  echo 'left out: the thread sanitizer does not start where files are limited'
  exit 0
fi

# Runs the command where no file may be larger than 1 KiB.
try_limited() {
  last="ulimit -f 1; mla-testbed $*"
  (
    ulimit -f 1
    exec "$testbed" "$@" 2>"$scratch/limited"
  ) | cat >out
  code=${PIPESTATUS[0]}
  cp limited err
}

# A file that cannot have a new one beside it, since its name is too long for that, is written in
# place, and keeps what it has if the new text has no room.
long=$(printf 'x%.0s' {1..252})
try run --cases 3 --property P05 --no-progress --record "$long"
expect_exit 3  # nor is a new one made
echo old >"$long"
try run --cases 40 --property P05 --no-progress --record "$long"
expect_exit 0
try merge "$long"
expect_exit 0
echo old >"$long"
try_limited run --cases 60 --property P04,P05,P08 --no-progress --record "$long"
expect_exit 3
expect_err 'File too large'
[[ $(cat "$long") == old ]] || fail 'the record was destroyed'

# A bundle is replaced as a whole or not at all.
try plan "$cpu" --bundle bundle
expect_exit 0
cp -r bundle kept
try_limited plan 'mla1:200q1s300;cu=304' --bundle bundle
expect_exit 3
expect_err "cannot write 'bundle/.*File too large"
expect_out '.'
diff -r bundle kept || fail 'the bundle was changed'

# A record that a run goes on from stays where the disk has no room for a new file. Needs a file
# system of its own.
export testbed
unshare -rm bash -c '
  mkdir -p disk && mount -t tmpfs -o size=256k,nr_inodes=6 tmpfs disk || exit 77
  "$testbed" run --cases 20 --property P05 --no-progress --record disk/r.json >out || exit 1
  cp disk/r.json whole.json
  for i in 1 2 3 4 5 6; do : >disk/$i; done 2>files
  "$testbed" run --resume disk/r.json --no-progress >out 2>err
  code=$?
  cmp disk/r.json whole.json && [[ $code == 3 ]] && grep -q "No space left" err' 2>mount
code=$?
last='mla-testbed run --resume disk/r.json'
if [[ $code == 0 ]]; then
  expect_silent out
elif grep -q 'unshare\|mount' mount; then
  echo 'left out: no file system can be mounted here'
else
  fail 'the record was destroyed'
fi
