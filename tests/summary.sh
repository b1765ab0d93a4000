#!/usr/bin/env bash
# Prints reports as Markdown, for the summary page of a CI run: ctest's JUnit files as a line and a
# table of what failed, verdict tables as they are. Reports that are missing are said to be.
#
#   tests/summary.sh tests.xml properties.txt
set -euo pipefail

# The value of an attribute in the first line that has it.
attribute() {
  sed -n "s/.*[[:space:]]$2=\"\([^\"]*\)\".*/\1/p" "$1" | head -n 1
}

for report in "$@"; do
  echo "### $report"
  echo
  if [[ ! -s $report ]]; then
    echo "There is no report."
  elif [[ $report == *.xml ]]; then
    echo "$(attribute "$report" tests) tests, $(attribute "$report" failures) failed," \
      "$(attribute "$report" skipped) skipped"
    failed=$(grep -o '<testcase [^>]*status="fail"' "$report" | sed 's/.* name="\([^"]*\)".*/\1/') || true
    if [[ $failed ]]; then
      printf '\n| failed |\n|---|\n'
      # shellcheck disable=SC2001  # one substitution for each line
      sed 's/.*/| `&` |/' <<<"$failed"
    fi
  else
    echo '```'
    cat "$report"
    echo '```'
  fi
  echo
done
