#!/usr/bin/env bash
# .github/actions/judge: its shell part, as GitHub would run it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$scratch" || exit 1
action=$root/.github/actions/judge
printf 'mla1:1q1s%s\n' 5 900 >first.txt
printf 'mla1:2q3s40\n' >'second one.txt'

# What a build with sanitizers runs under.
sanitizer=()
for name in OMP_TOOL_LIBRARIES ASAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do
  [[ -v $name ]] && sanitizer+=("$name=${!name}")
done

# judge VARIABLE=VALUE...: the step with these inputs; a stale report must not be taken for a new one.
judge() {
  last="judge.sh $*"
  rm -rf mla-testbed-reports
  : >summary
  : >outputs
  env -i "${sanitizer[@]}" PATH="$PATH" HOME="$HOME" JUDGE_COMMAND="$testbed" GITHUB_STEP_SUMMARY="$scratch/summary" \
    GITHUB_OUTPUT="$scratch/outputs" "$@" "$action/judge.sh" >out 2>err </dev/null
  code=$?
}
expect_summary() { grep -qE -- "$1" summary || fail "expected in the summary: $1"; }
expect_output() { grep -qxE -- "$1" outputs || fail "expected as output: $1"; }

judge JUDGE_CASES=$'  first.txt \n\nsecond*.txt' JUDGE_OPTIONS='--property P05 --seed 3'
expect_exit 0
expect_summary '^### mla-testbed: all held \(exit 0\)$'
expect_summary '^\| cpu \| 3 \| 0 \| 3 \|'
expect_output 'exit-code=0'
expect_output 'reports=mla-testbed-reports'
for report in junit.xml report.html report.json summary.md; do
  [[ -s mla-testbed-reports/$report ]] || fail "there is no $report"
done

# The shipped cases alone: claims about kinds of step that none of them is do not make the step red.
judge JUDGE_CASES="$root/fixtures/cases/smoke.txt"
expect_exit 0
expect_summary '^### mla-testbed: all held \(exit 0\)$'

# A failure: its command in the summary, its exit code, and accepted if that is asked for.
judge JUDGE_CASES=first.txt JUDGE_RANDOM=60 JUDGE_OPTIONS='--property P00'
expect_exit 1
expect_summary '^\*\*FAIL P00\*\* on cpu: '
expect_summary '^mla-testbed replay .mla1:'
expect_output 'exit-code=1'
expect_out '^::error::mla-testbed ended with exit code 1; accepted: 0$'
judge JUDGE_CASES=first.txt JUDGE_RANDOM=60 JUDGE_OPTIONS='--property P00' JUDGE_ACCEPT='0 1'
expect_exit 0
expect_output 'exit-code=1'

# Without a report nothing was judged, whatever code is accepted.
judge JUDGE_CASES=first.txt JUDGE_OPTIONS=--help
expect_exit 4
expect_summary 'no report \(exit 0\)'
expect_out '^::error::mla-testbed ended with exit code 0 and wrote no report$'
judge JUDGE_CASES=first.txt JUDGE_OPTIONS='--property P99' JUDGE_ACCEPT='0 4'
expect_exit 4
expect_out '^::error::mla-testbed ended with exit code 4 and wrote no report$'

# What the command prints is no workflow command.
judge JUDGE_CASES=first.txt JUDGE_OPTIONS='--property=::error::x'
expect_exit 4
expect_summary 'no report \(exit 4\)'
[[ $(sed -n 1p out) =~ ^::stop-commands::([0-9a-f]{32})$ ]] || fail 'commands are not stopped'
grep -qx "::${BASH_REMATCH[1]}::" out || fail 'commands do not go on'

# Bundles.
judge JUDGE_BUNDLES="$root/fixtures/bundles/so*"$'\n'"$root/fixtures/bundles/word"
expect_exit 1
expect_summary '^### mla-testbed check: exit 1$'
expect_summary '^1 of 2 plans are valid\.$'
expect_summary '^\| .* \| broken \| '
judge JUDGE_BUNDLES="$root/fixtures/bundles/sound"
expect_exit 0

# Inputs that are wrong, one by one.
refused() { # <sentence> <inputs>
  judge "${@:2}"
  expect_exit 2
  expect_out "^::error::mla-testbed: .*$1"
  [[ ! -s summary ]] || fail 'nothing was judged, and yet there is a summary'
}
refused "0 of the inputs 'cases', 'bundles' and 'aiter' are given"
refused '2 of the inputs' JUDGE_CASES=first.txt JUDGE_BUNDLES=x
refused "'cases' has 'none\*.txt': there is no such file" JUDGE_CASES='none*.txt'
refused "'accept' has 'x'" JUDGE_CASES=first.txt JUDGE_ACCEPT='0 x'
refused "'random' is '-5'" JUDGE_CASES=first.txt JUDGE_RANDOM=-5
refused "'arch' is 'gfx90a'" JUDGE_AITER=. JUDGE_ARCH=gfx90a
refused "which has no folder 'hsa'" JUDGE_AITER=.
refused "there is no command '/nowhere'" JUDGE_CASES=first.txt JUDGE_COMMAND=/nowhere

# An input is never a command of the shell.
judge JUDGE_CASES='first.txt $(touch hit) `touch hit`' JUDGE_OPTIONS='$(touch hit); touch hit'
expect_exit 2
judge JUDGE_CASES=first.txt JUDGE_OPTIONS='$(touch hit)'
[[ ! -e hit ]] || fail 'an input was executed'

# AITER's own kernels, where its code objects are.
mkdir -p aiter/hsa
judge JUDGE_AITER=aiter JUDGE_RANDOM=1
[[ $code -ne 0 ]] || fail 'an empty hsa folder was judged'
if [[ ${AITER_HSA-} ]]; then
  rmdir aiter/hsa
  ln -s "$AITER_HSA" aiter/hsa
  judge JUDGE_AITER=aiter JUDGE_RANDOM=1 JUDGE_OPTIONS='--property P05' JUDGE_ACCEPT='0 4'
  expect_exit 0
  expect_summary '^\| aiter \| [0-9]+ \|'
  grep -q AITER-11 mla-testbed-reports/report.json || fail 'the shipped ledger was not used'
  echo '{"format": "mla-testbed ledger 2", "entries": []}' >own.json
  judge JUDGE_AITER=aiter JUDGE_RANDOM=1 JUDGE_OPTIONS='--property P05 --ledger own.json' JUDGE_ACCEPT='0 4'
  expect_exit 0
  ! grep -q AITER-11 mla-testbed-reports/report.json || fail 'a ledger of one'"'"'s own was not used alone'
else
  echo "without AITER_HSA: input 'aiter' was tried with an empty folder only"
fi

# AITER's kernels need the reduce kernel of this project, which needs clang: the action's own build has it.
mkdir -p built/tests built/.github/actions/judge
cp "$action/build.sh" built/.github/actions/judge/
{ cat "$root/tests/setup.sh"
  echo 'need_packages() { echo "packages $*"; }'
  echo 'build_preset() { echo "build ${mla_configure[*]} $*"; }'; } >built/tests/setup.sh
last='build.sh without AITER'
env JUDGE_AITER= built/.github/actions/judge/build.sh >out
expect_out '^build -DMLA_TESTS=OFF cpu-release --target mla-testbed$'
expect_no_out clang
last='build.sh with AITER'
env JUDGE_AITER=aiter built/.github/actions/judge/build.sh >out
expect_out '^packages .* clang-[0-9]+ lld-'
expect_out '^build -DMLA_TESTS=OFF -DHIP_BACKEND=ON cpu-release --target mla-testbed$'

# Every input of action.yml reaches the script, and nothing is pasted into a shell line.
for input in $(sed -n '/^inputs:/,/^outputs:/s/^  \([a-z]*\):$/\1/p' "$action/action.yml"); do
  grep -q "JUDGE_${input^^}: \${{ inputs.$input }}" "$action/action.yml" || fail "input $input goes nowhere"
  grep -q "JUDGE_${input^^}" "$action/judge.sh" || fail "judge.sh does not read $input"
done
! grep -E '^ +run: .*\$\{\{' "$action/action.yml" || fail 'an expression stands in a shell line'
