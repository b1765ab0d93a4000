#!/usr/bin/env bash
# The action's step: two commits of AITER, or of an engine, are judged, and what changed is the
# summary of the job.
#
# Takes the inputs of action.yml from the environment, as COMPARE_AITER and so on. Writes the report to
# GITHUB_STEP_SUMMARY and the exit code to GITHUB_OUTPUT.
# Exit: 0 there is a report, and the command's exit code is accepted; else that exit code, or 4 if it
# is 0 and there is no report; 2 the inputs are wrong.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
. "$root/.github/actions/steps.sh"
engine=${COMPARE_ENGINE-}
built=$root/build/cpu-release/mla-testbed${engine:+-engines}
command=${COMPARE_COMMAND:-$built}
reports=${COMPARE_REPORTS:-mla-testbed-compare}
aiter=${COMPARE_AITER-}
# GitHub renders a summary of up to 1 MiB; nobody reads more lines than this.
most_lines=400

case $engine in
  "") input=aiter clone=$aiter name=AITER ;;
  vllm | sglang | atom) input=src clone=${COMPARE_SRC-} name=$engine ;;
  *) refuse "input 'engine' is '$engine'; expected vllm, sglang or atom" ;;
esac
[[ $clone ]] || refuse "input '$input' is not given; expected a checkout of $name with its history"
git -C "$clone" rev-parse --git-dir >/dev/null 2>&1 || refuse "input '$input' is '$clone', which is no git checkout"
for input in BASE HEAD; do
  variable=COMPARE_$input
  named=${!variable-}
  [[ $named ]] || refuse "input '${input,,}' is not given; expected a commit or branch"
  git -C "$clone" rev-parse --verify --quiet --end-of-options "$named^{commit}" >/dev/null ||
    refuse "input '${input,,}' is '$named', which is no commit of '$clone' (actions/checkout needs fetch-depth: 0)"
done
check_accepted "${COMPARE_ACCEPT:-0}"
[[ -x $command ]] || refuse "there is no command '$command'"
commits=(--base "$COMPARE_BASE" --head "$COMPARE_HEAD" --report-md "$reports/report.md")
if [[ ! $engine ]]; then
  arguments=(aiter compare --aiter "$aiter" "${commits[@]}")
  of_cases=--cases
else
  arguments=(compare --engine "$engine" --src "$clone" --kind "${COMPARE_KIND:-decode}" "${commits[@]}")
  of_cases=--cases-file
  if [[ $aiter ]]; then
    [[ -d $aiter/aiter ]] || refuse "input 'aiter' is '$aiter', which is no checkout of AITER"
    AITER_SRC=$(cd "$aiter" && pwd)
    export AITER_SRC
  else
    arguments+=(--without-aiter)
  fi
fi
if [[ ${COMPARE_CASES-} ]]; then
  [[ -f $COMPARE_CASES ]] || refuse "input 'cases' is '$COMPARE_CASES': there is no such file"
  arguments+=("$of_cases" "$COMPARE_CASES")
fi
mkdir -p "$reports" || refuse "input 'reports' is '$reports': it cannot be made"
rm -f "$reports/report.md" "$reports/summary.md"

# Workflow commands in foreign text are text: GitHub reads them from the log.
stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$stop"
"$command" "${arguments[@]}" 2>&1 | tee "$reports/log.txt"
code=${PIPESTATUS[0]}
echo "::$stop::"

[[ ! -s $reports/report.md ]] || head -n "$most_lines" "$reports/report.md" >"$reports/summary.md"
finish "$code" "$reports" "$reports/summary.md" "${COMPARE_ACCEPT:-0}"
