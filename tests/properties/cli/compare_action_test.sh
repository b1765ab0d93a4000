#!/usr/bin/env bash
# .github/actions/compare: its step, as GitHub would run it, around a command that notes how it was
# called. What the command itself finds is tests/python's matter.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$scratch" || exit 1
action=$root/.github/actions/compare
git init -q aiter
for change in one two; do
  echo "$change" >aiter/file
  git -C aiter add file
  git -C aiter -c user.name=a -c user.email=a@b commit -qm "$change"
done
base=$(git -C aiter rev-parse HEAD~1)
cat >command <<'SH'
#!/usr/bin/env bash
printf '%s\n' "$@" >called
printf '%s' "${AITER_SRC-}" >aiter_src
echo '::error::of a kernel'
while [[ $1 != --report-md ]]; do shift; done
[[ ! $REPORT ]] || printf '%s\n' "$REPORT" >"$2"
exit "$CODE"
SH
chmod +x command
echo 'mla1:1q1s9' >cases.txt

# compare CODE REPORT VARIABLE=VALUE...: the step, with a command that ends and reports like this.
compare() {
  last="compare.sh $*"
  : >summary
  : >outputs
  rm -f called
  env -i PATH="$PATH" HOME="$HOME" CODE="$1" REPORT="$2" COMPARE_COMMAND="$scratch/command" COMPARE_AITER=aiter \
    COMPARE_BASE="$base" COMPARE_HEAD=HEAD GITHUB_STEP_SUMMARY="$scratch/summary" \
    GITHUB_OUTPUT="$scratch/outputs" "${@:3}" "$action/compare.sh" >out 2>err </dev/null
  code=$?
}
expect_called() { grep -qxF -- "$1" called || fail "expected in the call: $1"; }

compare 0 '# nothing changed'
expect_exit 0
for word in aiter compare --base "$base" --head HEAD mla-testbed-compare/report.md; do expect_called "$word"; done
grep -qxF '# nothing changed' summary || fail 'the report is no summary'
grep -qxF 'exit-code=0' outputs || fail 'no exit code'
grep -qxF 'reports=mla-testbed-compare' outputs || fail 'no folder of reports'
# What the command prints is no workflow command.
[[ $(grep -n 'of a kernel' out | cut -d: -f1) -gt $(grep -n '^::stop-commands::' out | cut -d: -f1) ]] ||
  fail 'foreign text comes before stop-commands'
grep -q 'of a kernel' mla-testbed-compare/log.txt || fail 'no log'

compare 1 '# P05 fails' COMPARE_CASES=cases.txt
expect_exit 1
expect_called --cases
expect_out '^::error::mla-testbed ended with exit code 1; accepted: 0$'
compare 4 '# inconclusive' COMPARE_ACCEPT='0 4'
expect_exit 0
grep -qxF 'exit-code=4' outputs || fail 'no exit code'

# Without a report nothing was judged, and an old one is none.
compare 0 ''
expect_exit 4
grep -q 'no report (exit 0)' summary || fail 'no sentence in the summary'

compare 0 x COMPARE_BASE=nowhere
expect_exit 2
expect_out "^::error::mla-testbed: input 'base' is 'nowhere', which is no commit of 'aiter' .*fetch-depth: 0"
compare 0 x COMPARE_BASE=--upload-pack=x
expect_exit 2
compare 0 x COMPARE_AITER=.
expect_exit 2
expect_out "^::error::mla-testbed: input 'aiter' is '\\.', which is no git checkout"
compare 0 x COMPARE_CASES=none.txt
expect_exit 2
expect_out "input 'cases' is 'none.txt': there is no such file"
compare 0 x COMPARE_ACCEPT=all
expect_exit 2
[[ ! -e called ]] || fail 'the command ran on wrong inputs'

# Commits of an engine: another command's options, and AITER is what lies below it.
compare 1 '# P04 fails' COMPARE_ENGINE=vllm COMPARE_SRC=aiter COMPARE_AITER= COMPARE_CASES=cases.txt
expect_exit 1
for word in compare --engine vllm --src aiter --kind decode --base "$base" --without-aiter --cases-file; do
  expect_called "$word"
done
! grep -qxF -- --aiter called || fail 'an engine is no clone of AITER'
mkdir -p below/aiter
compare 0 '# nothing changed' COMPARE_ENGINE=sglang COMPARE_SRC=aiter COMPARE_AITER=below COMPARE_KIND=sparse
expect_exit 0
expect_called sparse
! grep -qxF -- --without-aiter called || fail 'AITER is there'
[[ $(<aiter_src) == "$scratch/below" ]] || fail 'AITER_SRC does not name it'
compare 0 x COMPARE_ENGINE=vllm
expect_exit 2
expect_out "input 'src' is not given; expected a checkout of vllm with its history"
compare 0 x COMPARE_ENGINE='vllm; true' COMPARE_SRC=aiter
expect_exit 2
expect_out "input 'engine' is 'vllm; true'; expected vllm, sglang or atom"
compare 0 x COMPARE_ENGINE=vllm COMPARE_SRC=aiter COMPARE_AITER=below/aiter
expect_exit 2
expect_out "input 'aiter' is 'below/aiter', which is no checkout of AITER"
compare 0 x COMPARE_ENGINE=vllm COMPARE_SRC=aiter COMPARE_AITER= COMPARE_BASE=nowhere
expect_exit 2
expect_out "input 'base' is 'nowhere', which is no commit of 'aiter'"
[[ ! -e called ]] || fail 'the command ran on wrong inputs'

# The interface in action.yml and the step agree, and no input is pasted into a shell line.
for input in $(sed -n '/^inputs:/,/^outputs:/s/^  \([a-z]*\):$/\1/p' "$action/action.yml"); do
  grep -q "COMPARE_${input^^}: \${{ inputs.$input }}" "$action/action.yml" || fail "input $input goes nowhere"
done
! grep -E '^ +run: .*\$\{\{' "$action/action.yml" || fail 'an expression stands in a shell line'
