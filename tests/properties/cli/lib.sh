# Sourced by the tests of the command line: runs the command and says what was expected of it.
#
# A test calls `try`, then any of the expectations. The first one that does not hold ends the test
# with exit 1 and shows what the command printed.
set -uo pipefail
testbed=$1
here=$(dirname "${BASH_SOURCE[0]}")
root=$(cd "$here/../../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
last=nothing code=0
touch "$scratch/out" "$scratch/err"

# Runs the command; its exit code is $code, its output $scratch/out and $scratch/err.
try() {
  last="mla-testbed $*"
  "$testbed" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
}

# The same with a text on stdin: try_with TEXT ARGUMENTS...
try_with() {
  last="mla-testbed ${*:2}"
  printf '%s' "$1" | "$testbed" "${@:2}" >"$scratch/out" 2>"$scratch/err"
  code=$?
}

# The same as `try`, ended after 20 seconds with exit code 124: for what once waited for ever.
try_in_time() {
  last="mla-testbed $*"
  timeout 20 "$testbed" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
}

fail() {
  echo "FAILED: $last (exit $code)"
  echo "  $1"
  echo "--- stdout"
  head -c 4000 "$scratch/out"
  echo "--- stderr"
  head -c 4000 "$scratch/err"
  exit 1
}

expect_exit() { [[ $code -eq $1 ]] || fail "expected exit $1"; }
expect_out() { grep -qE -- "$1" "$scratch/out" || fail "expected on stdout: $1"; }
expect_no_out() { ! grep -qE -- "$1" "$scratch/out" || fail "expected not on stdout: $1"; }
expect_no_err() { ! grep -qE -- "$1" "$scratch/err" || fail "expected not on stderr: $1"; }
expect_err() { grep -qE -- "$1" "$scratch/err" || fail "expected on stderr: $1"; }
expect_silent() { [[ ! -s $scratch/$1 ]] || fail "expected nothing on std$1"; }
expect_json() {
  cmake -DFILE="$scratch/out" -P "$here/is_json.cmake" >/dev/null 2>&1 || fail "expected JSON"
}

# Stdout is exactly the approved text. MLA_APPROVE=1 approves what stands there now.
expect_baseline() {
  if [[ ${MLA_APPROVE-} == 1 ]]; then cp "$scratch/out" "$here/baselines/$1"; fi
  diff -u "$here/baselines/$1" "$scratch/out" || fail "differs from tests/properties/cli/baselines/$1"
}

# What does not depend on time, of a JSON report, a JUnit report or a table.
timeless() {
  sed -E 's/"seconds": [0-9.e-]+/"seconds": T/; s/ time="[0-9.]+"/ time="T"/; s/ in [0-9.]+ s, / in T s, /' "$1"
}
# Apart from times, the second file is the first.
same_but_times() {
  diff <(timeless "$1") <(timeless "$2") >"$scratch/diff.txt" && return
  head -30 "$scratch/diff.txt"
  fail "$2 differs from $1"
}
