#!/usr/bin/env bash
# tests/summary.sh: counts and failures of ctest's report, verdict tables as they are.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

last=summary.sh code=0

printf '<testsuite name="x"\n\ttests="3"\n\tfailures="1"\n\tskipped="0"\n>\n' >"$scratch/tests.xml"
printf '\t<testcase name="good" classname="good" time="1" status="run">\n' >>"$scratch/tests.xml"
printf '\t<testcase name="bad" classname="bad" time="1" status="fail">\n' >>"$scratch/tests.xml"
"$testbed" run --cases 5 --property P05 >"$scratch/table.txt"
bash "$root/tests/summary.sh" "$scratch/tests.xml" "$scratch/table.txt" "$scratch/none.xml" >"$scratch/out"
expect_out '^3 tests, 1 failed, 0 skipped$'
expect_out '^\| `bad` \|$'
grep -q good "$scratch/out" && fail "a test that passed is in the table"
expect_out '^P05 '
expect_out '^There is no report\.$'
