#!/usr/bin/env bash
# The action's step: judges cases, bundles or an AITER checkout, and hands over the reports.
#
# Takes JUDGE_CASES, JUDGE_BUNDLES or JUDGE_AITER, and the other inputs of action.yml, from the
# environment. Writes a Markdown summary to GITHUB_STEP_SUMMARY and the exit code to GITHUB_OUTPUT.
# Exit: 0 there is a report, and the command's exit code is accepted; else that exit code, or 4 if it
# is 0 and there is no report (`--help` among the options); 2 the inputs are wrong.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
. "$root/.github/actions/steps.sh"
command=${JUDGE_COMMAND:-$root/build/cpu-release/mla-testbed}
reports=${JUDGE_REPORTS:-mla-testbed-reports}
arch=${JUDGE_ARCH:-gfx942}

# The files of patterns, one pattern a line; a pattern without a file is an error.
files=()
find_files() { # <input> <patterns>
  local pattern found
  while IFS= read -r pattern; do
    pattern=${pattern#"${pattern%%[![:space:]]*}"}
    pattern=${pattern%"${pattern##*[![:space:]]}"}
    [[ $pattern ]] || continue
    mapfile -t found < <(compgen -G "$pattern")
    ((${#found[@]})) || refuse "input '$1' has '$pattern': there is no such file"
    files+=("${found[@]}")
  done <<<"$2"
}

given=0
for input in "${JUDGE_CASES-}" "${JUDGE_BUNDLES-}" "${JUDGE_AITER-}"; do
  [[ -z $input ]] || given=$((given + 1))
done
((given == 1)) || refuse "$given of the inputs 'cases', 'bundles' and 'aiter' are given; expected one"
check_accepted "${JUDGE_ACCEPT:-0}"
[[ ${JUDGE_RANDOM-} =~ ^[0-9]*$ ]] || refuse "input 'random' is '$JUDGE_RANDOM'; expected a number"
[[ -x $command ]] || refuse "there is no command '$command'"
read -ra options <<<"${JUDGE_OPTIONS-}"
mkdir -p "$reports" || refuse "input 'reports' is '$reports': it cannot be made"

if [[ ${JUDGE_BUNDLES-} ]]; then
  find_files bundles "$JUDGE_BUNDLES"
  arguments=(check --json --html "$reports/report.html" "${options[@]}" -- "${files[@]}")
else
  arguments=(run --no-progress --json --junit "$reports/junit.xml" --html "$reports/report.html")
  if [[ ${JUDGE_AITER-} ]]; then
    [[ $arch == gfx942 || $arch == gfx950 ]] ||
      refuse "input 'arch' is '$arch'; expected gfx942 or gfx950"
    [[ -d $JUDGE_AITER/hsa ]] || refuse "input 'aiter' is '$JUDGE_AITER', which has no folder 'hsa'"
    arguments+=(--backend cpu,aiter --device "emulated:$arch" --aiter-hsa "$JUDGE_AITER/hsa"
                --cases "${JUDGE_RANDOM:-20}")
    # Every AITER has defects that are known: they are no news, and new ones stay red.
    [[ " ${options[*]-}" == *" --ledger"[=\ ]* ]] ||
      arguments+=(--ledger "$root/fixtures/aiter_$arch.json")
  else
    find_files cases "$JUDGE_CASES"
    for file in "${files[@]}"; do arguments+=(--cases-file "$file"); done
    [[ -z ${JUDGE_RANDOM-} ]] || arguments+=(--cases "$JUDGE_RANDOM")
  fi
  arguments+=("${options[@]}")
fi

# Workflow commands in foreign text are text: GitHub reads them from the log.
stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$stop"
"$command" "${arguments[@]}" >"$reports/report.json"
code=$?
echo "::$stop::"

here=$(dirname "${BASH_SOURCE[0]}")
[[ -s $reports/report.json ]] &&
  "$here/summary.py" "$reports/report.json" "$code" >"$reports/summary.md" ||
  : >"$reports/summary.md"
finish "$code" "$reports" "$reports/summary.md" "${JUDGE_ACCEPT:-0}"
