#!/usr/bin/env bash
# The sessions in README and docs are true: behind every indented `$ mla-testbed ...` stands what the
# command prints today.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root" # pages name files from there

# Writes session N of a page to $scratch/N.command and $scratch/N.shown; a session ends at the first
# line that is neither indented nor blank, or at the next command.
cut_sessions() {
  awk -v out="$scratch" '
    function finish() { if (open) { close(out "/" n ".shown"); open = 0 } }
    /^    \$ mla-testbed / {
      finish(); n++; open = 1; blanks = ""
      printf "%s\n", substr($0, 19) > (out "/" n ".command"); close(out "/" n ".command")
      printf "" > (out "/" n ".shown"); next
    }
    !open { next }
    /^$/ { blanks = blanks "\n"; next }
    /^    / { printf "%s%s\n", blanks, substr($0, 5) > (out "/" n ".shown"); blanks = ""; next }
    { finish() }
  ' "$1"
}

sessions=0
for page in "$root"/README.md "$root"/docs/*.md; do
  rm -f "$scratch"/*.command
  cut_sessions "$page"
  for command in "$scratch"/*.command; do
    [[ -e $command ]] || continue
    words=$(<"$command")
    last="mla-testbed $words (in ${page#"$root"/})"
    eval "\"$testbed\" $words" 2>"$scratch/err" </dev/null | sed -e 's/[ ]*$//' >"$scratch/raw"
    code=${PIPESTATUS[0]}
    # Blank lines at the end of a session do not count.
    sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$scratch/raw" >"$scratch/out"
    diff -u "${command%.command}.shown" "$scratch/out" || fail "the page shows something else"
    sessions=$((sessions + 1))
  done
done
code=0
[[ $sessions -ge 4 ]] || fail "found only $sessions sessions"
echo "$sessions sessions are true"
