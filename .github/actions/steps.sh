# What the steps of the actions have in common; sourced by them.

# An input is wrong: one sentence that names it.
refuse() {
  echo "::error::mla-testbed: $1"
  exit 2
}

check_accepted() { # <exit codes>
  local code
  for code in $1; do
    [[ $code =~ ^[0-9]+$ ]] || refuse "input 'accept' has '$code'; expected exit codes such as '0 5'"
  done
}

# finish CODE REPORTS SUMMARY ACCEPTED: `SUMMARY` is a file of Markdown for the page of the job; if
# it is empty, there is no report. Writes GITHUB_STEP_SUMMARY and GITHUB_OUTPUT.
# Exit: 0 there is a report, and the exit code of the command is accepted; else that exit code, or 4
# if it is 0 and there is no report.
finish() {
  local code=$1 reports=$2 summary=$3 accepted
  printf 'exit-code=%s\nreports=%s\n' "$code" "$reports" >>"${GITHUB_OUTPUT:-/dev/null}"
  if [[ ! -s $summary ]]; then
    echo "### mla-testbed: no report (exit $code); the log says why" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
    echo "::error::mla-testbed ended with exit code $code and wrote no report"
    exit "$((code ? code : 4))"
  fi
  cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
  for accepted in $4; do
    ((accepted != code)) || exit 0
  done
  echo "::error::mla-testbed ended with exit code $code; accepted: $4"
  exit "$code"
}
