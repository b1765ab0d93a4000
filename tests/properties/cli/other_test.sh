#!/usr/bin/env bash
# Help, version, env, support, plants, and what stdout and stderr are for.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

try --help
expect_exit 0
expect_silent err
for command in run replay plan check support plants env; do
  try --help
  expect_out "^  $command "
  try "$command" --help
  expect_exit 0
  expect_silent err
  expect_out '^Examples:$'
  expect_out "^  mla-testbed .*$command"
  try "$command" --no-such-option x
  expect_exit 2
  expect_silent out
  expect_err '--no-such-option'
done
try --version
expect_exit 0
expect_out '^mla-testbed [0-9]+\.[0-9]+\.[0-9]+$'
try -V
expect_exit 0
expect_out '^mla-testbed [0-9]+\.[0-9]+\.[0-9]+$'
try
expect_exit 2
expect_silent out
expect_err '^  replay '
try nonsense
expect_exit 2
expect_err "no subcommand 'nonsense'"
expect_err 'there are run, merge, replay, plan'
try replya 'mla1:1q1s5'
expect_exit 2
expect_err "no subcommand 'replya'; did you mean 'replay'\?"
try run --sede 3
expect_exit 2
expect_err "did you mean '--seed'\?"

try env --json
expect_exit 0
expect_json
expect_out '"isa_paths"'
try env
expect_out '^compiler '

try support --arch gfx950 --heads 8 --dtype fp8/fp8
expect_exit 0
expect_baseline support.txt
try support --arch gfx950 --heads 24 --dtype bf16/bf16 --rows 2
expect_exit 0
[[ $(<"$scratch/out") == 'A decode step of 1 request with 2 rows and 24 heads, bf16/bf16 on gfx950, runs on a16w16 qh64_qseqlen1_v3, route persistent: a persistent kernel takes these requests.' ]] ||
  fail 'expected one sentence'
try support --arch gfx950 --heads 8 --dtype fp8/fp8 --rows 2
expect_out '^With a final LSE it runs on .*, route persistent-rows: '
expect_out '^Without a mask and with a final LSE it runs on '
try support --arch gfx942 --heads 64 --dtype bf16/bf16 --rows 2 --planner none
expect_out 'on gfx942, does not run: no non-persistent kernel is known'
try support --arch gfx942 --rows 9
expect_no_out '^gfx942 .* 1-'
expect_out '^gfx942 +bf16/bf16 +16  9 '
try support --rows 0
expect_exit 2
expect_err "rows has value '0': expected 1 to 4096"
try support --planner none --dtype bf16/bf16
expect_exit 0
expect_out '^gfx942 +bf16/bf16 +16  2-4 +yes +no +split +a16w16 gqa16 q4 '
expect_out '^gfx942 +bf16/bf16 +64  1-17 +yes +no +refused '
expect_out '^gfx950 +bf16/bf16 +64  1 +yes +no +split +a16w16 gqa64 q1 '
expect_no_out ' persistent '
try support --planner none --kind prefill
expect_exit 2
expect_err 'no --heads, --dtype or --planner'
try plants --table
expect_exit 0
diff -u "$root/docs/reference/bugs.md" "$scratch/out" || fail 'docs/reference/bugs.md is made by plants --table'
try support --kind prefill
expect_exit 0
expect_baseline support_prefill.txt
try support --kind fa
expect_exit 0
expect_baseline support_fa.txt
try support --kind fa --json
expect_exit 0
expect_json
try support --kind fa --heads 8
expect_exit 2
expect_err 'no --heads'
try support --json
expect_exit 0
expect_json
# Every answer has its reason.
expect_no_out '"reason": ""'
for bad in '--arch gfx90a' '--heads 0' '--heads 129' '--dtype int8' '--requests 0'; do
  # shellcheck disable=SC2086  # the words are two arguments
  try support $bad
  expect_exit 2
  expect_err "${bad##* }"
done
for command in support 'replay mla1:1q1s1'; do
  # shellcheck disable=SC2086  # the words are two arguments
  AITER_HSA= try $command --backend aiter
  expect_exit 3
  expect_err 'AITER_HSA in the environment'
done

try plants --list
expect_exit 0
expect_out '^BUG-[0-9]+ +P[0-9]+ '
cp "$scratch/out" "$scratch/plants"
# Shards of any number list every plant once.
for n in 1 3 7; do
  : >"$scratch/union"
  for ((i = 1; i <= n; i++)); do
    try plants --list --shard "$i/$n"
    expect_exit 0
    cat "$scratch/out" >>"$scratch/union"
  done
  diff <(sort "$scratch/plants") <(sort "$scratch/union") || fail "$n shards do not list every plant once"
done
try plants --list --shard 1000/1000
expect_exit 4
try plants --list --shard 2/2 BUG-021 SEED-qo-arange
expect_exit 0
[[ $(wc -l <"$scratch/out") -eq 1 ]] || fail 'expected half of two plants'
try plants --shard 2/2 BUG-021
expect_exit 4
expect_out '^0 of 0 plants caught$'
try plants --shard 3/2
expect_exit 2
expect_err "shard has value '3/2'"
try plants BUG-999999
expect_exit 4

# Output that is not taken is an error; a reader who leaves early is none.
last="mla-testbed support >/dev/full"
"$testbed" support >/dev/full 2>"$scratch/err"
code=$?
expect_exit 3
expect_err '^mla-testbed support: cannot write to stdout'
last="mla-testbed --version >/dev/full"
"$testbed" --version >/dev/full 2>"$scratch/err"
code=$?
expect_exit 3
expect_err '^mla-testbed: cannot write to stdout'
last="mla-testbed support | head -n 1"
"$testbed" support 2>"$scratch/err" | head -n 1 >"$scratch/out"
code=${PIPESTATUS[0]}
expect_exit 0
expect_silent err

# No colour and no progress bar where there is no terminal.
try run --cases 5 --property P04
expect_no_out $'\033'
expect_silent err

# No value is empty: a shell variable may not be set, and then the command would do something else.
printf 'mla1:1q1s9\n' >"$scratch/one.txt"
refuse_empty() {
  try "${@:2}" "$1" ''
  expect_exit 2
  expect_silent out
  expect_err "^mla-testbed: $1: the value is empty(; expected a f(ile|older))?$"
  # `--name=` does not take the next word for its value.
  try "${@:2}" "$1=" --cases-file=bad.txt
  expect_exit 2
  expect_silent out
  expect_err "^mla-testbed: $1: the value is empty; expected one after '='$"
}
cd "$scratch" || exit 1
for option in --record --junit --html --ledger --resume --cases-file --shard --property --memory-limit \
  --seed --for --device --aiter-hsa --schedule --arrival --matrix; do
  refuse_empty "$option" run --property P04
done
for option in --record --junit --resume --shard --for; do
  refuse_empty "$option" plants
  refuse_empty "$option" fuzz
done
for option in --corpus --target --number; do refuse_empty "$option" fuzz; done
refuse_empty --bundle plan mla1:1q1s9
refuse_empty --input plan
refuse_empty --output plan mla1:1q1s9
for option in --html --svg --trace --step --against; do refuse_empty "$option" show mla1:1q1s9; done
refuse_empty --html check one.txt
for option in --html --plant --memory-limit --property; do
  refuse_empty "$option" replay mla1:1q1s9
done
for option in --html --junit --aiter-hsa; do refuse_empty "$option" merge one.txt; done
for option in --html --device; do refuse_empty "$option" cross-check; done
for option in --dtype --arch --heads; do refuse_empty "$option" support; done
for option in --kernel --args; do refuse_empty "$option" gfx run x.co; done
[[ -z $(find . -name '*=*') ]] || fail 'a file has the name of an option'
# Flags with a value that may be left out, and arguments of that form.
try run --property P04 --cases 2 --checks=
expect_exit 2
expect_err '^mla-testbed: --checks: the value is empty'
try check -- --html=
expect_exit 3
expect_err "cannot read '--html='"
try plan '' --input one.txt
expect_exit 2
expect_err 'case: the value is empty'
try plants ''
expect_exit 2
expect_err 'ids: the value is empty'
# The environment may well be empty.
AITER_HSA= try run --property P04 --cases 2
expect_exit 0

# An option without effect is refused, and named.
without_effect() { # OPTION ARGUMENTS...
  try "${@:2}"
  expect_exit 2
  expect_silent out
  expect_err "^mla-testbed.*: .*$1"
}
without_effect --junit plants BUG-021 --list --junit x.xml
without_effect --record plants BUG-021 --list --record x.json
without_effect --json plants --list --json
without_effect --table plants --table --list
without_effect --shard plants --table --shard 1/2
without_effect ids plants --table BUG-021
without_effect --junit fuzz --list --junit x.xml
without_effect --trace-workgroup replay mla1:1q1s9 --trace-workgroup 1,2
without_effect "'slice' is there twice" replay mla1:1q1s9 --backend hip --device emulated:gfx942 \
  --schedule slice=1,slice=2
without_effect "'order' is there twice" replay mla1:1q1s9 --backend hip --device emulated:gfx942 \
  --schedule order=reverse,slice=2,order=in-turn
without_effect --aiter-hsa cross-check --device emulated:gfx942 --cases 2 --aiter-hsa x
without_effect --aiter-hsa support --aiter-hsa x
[[ ! -e x.xml && ! -e x.json ]] || fail 'a report was written'

# `help COMMAND` is `COMMAND --help`.
for words in '' plan 'gfx run' run; do
  # shellcheck disable=SC2086  # the words are arguments
  try $words --help
  cp out asked
  # shellcheck disable=SC2086
  try help $words
  expect_exit 0
  expect_silent err
  cmp -s out asked || fail "help $words is not $words --help"
done
try help replya
expect_exit 2
expect_silent out
expect_err "no subcommand 'replya'; did you mean 'replay'\?"
try help gfx rnu
expect_exit 2
expect_err "no subcommand 'rnu'; did you mean 'run'\?"
try help nonsense
expect_exit 2
expect_err 'there are run, merge, replay, plan'
try help plan mla1:1q1s9
expect_exit 2
expect_err "'plan' has no subcommand 'mla1:1q1s9'"

# A stack that is too small for it is named, where the command ended in a signal.
small_stack() { (ulimit -s "$1" && exec "$testbed" plan mla1:1q1s64) >"$scratch/out" 2>"$scratch/err"; }
last='mla-testbed plan with ulimit -s 64'
small_stack 64
code=$?
expect_exit 3
expect_err 'the stack is limited to 64 KiB \(ulimit -s\): expected at least 128'
last='mla-testbed plan with ulimit -s 128'
small_stack 128
code=$?
expect_exit 0
