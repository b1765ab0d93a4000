#!/usr/bin/env bash
# The manual page and the completion of bash say what --help says.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A word as the manual writes it: hyphens are escaped.
expect_page() { grep -qF -- "${1//-/\\-}" "$scratch/page" || fail "the manual lacks $1"; }
options_of() { "$testbed" "$@" --help | grep -oE '^ +(-h, *)?--[a-z-]+' | grep -oE -- '--.*'; }

last="manual.sh $testbed"
"$root/properties/cli/manual.sh" "$testbed" >"$scratch/out" 2>"$scratch/err"
code=$?
expect_exit 0
expect_silent err
cp "$scratch/out" "$scratch/page"
expect_out '^\.TH MLA\\-TESTBED 1 "" "mla\\-testbed [0-9]+\.[0-9]+\.[0-9]+"'
expect_out '^\.SH "Exit codes"$'
commands=$("$testbed" --help | sed -n '/^[Ss][Uu][Bb][Cc][Oo]/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[[ $(wc -w <<<"$commands") -ge 12 ]] || fail "found only the subcommands $commands"
inner=$("$testbed" gfx --help | sed -n '/^[Ss][Uu][Bb][Cc][Oo]/,/^$/s/^  \([a-z-]*\) .*/gfx_\1/p')
for command in $commands $inner; do
  words=${command//_/ }
  expect_page ".SS \"$words\""
  # shellcheck disable=SC2086  # the words are arguments
  for option in $(options_of $words); do
    [[ $option == --help ]] || expect_page ".B \"$option"
  done
  # shellcheck disable=SC2086
  "$testbed" $words --help | sed -n '/^Examples:/,$p' | { grep '^  ' || true; } | while IFS= read -r line; do
    line=${line//\\/\\e}
    expect_page "$line"
  done || exit 1
done
# No line is a request that groff does not know, and groff makes a page of it.
if grep -nE "^[.']" "$scratch/page" | grep -vE "^[0-9]+:\.(TH|SH|SS|TP|PP|B|I|EX|EE)( |$)"; then
  fail 'a line of text became a request'
fi
if command -v groff >/dev/null; then
  said=$(groff -man -Tutf8 -ww -z "$scratch/page" 2>&1) || fail "groff: $said"
  [[ -z $said ]] || fail "groff: $said"
  groff -man -Tutf8 -P-cbou -rLL=200n "$scratch/page" >"$scratch/out"
  expect_out "^ +mla-testbed replay 'mla1:1q1s17;heads=128;arch=gfx950'$"
  expect_out '^ +--cases N( Excludes: --for)?$'
else
  echo 'no groff here: the page was not set'
fi

# Completion: COMPREPLY of a line whose last word is under the cursor.
# shellcheck source=/dev/null
. "$root/properties/cli/completion.bash"
complete_line() {
  COMP_WORDS=("$testbed" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _mla_testbed
  last="completion of $*"
  printf '%s\n' "${COMPREPLY[@]}" >"$scratch/out"
}
complete_line re
[[ ${COMPREPLY[*]} == replay ]] || fail 'expected replay'
complete_line ''
for command in $commands --version; do expect_out "^$command$"; done
complete_line help re
[[ ${COMPREPLY[*]} == replay ]] || fail 'expected replay'
complete_line run --ca
[[ $(sort <<<"${COMPREPLY[*]}") == '--cases --cases-file' ]] || fail 'expected --cases and --cases-file'
for command in $commands; do
  complete_line "$command" --
  [[ $(sort "$scratch/out") == $(options_of "$command" | sort) ]] || fail "expected the options of $command"
done
complete_line plants BUG-02
expect_out '^BUG-021$'
expect_no_out '^BUG-01'
complete_line replay x --plant SEED-q
expect_out '^SEED-qo-arange$'
complete_line run --backend cpu-p
[[ ${COMPREPLY[*]} == cpu-portable ]] || fail 'expected cpu-portable'
complete_line run --property P0
expect_out '^P05$'
expect_no_out '^P1'
complete_line run --device emulated : gfx95
[[ ${COMPREPLY[*]} == gfx950 ]] || fail 'expected gfx950'
complete_line run --device auto
[[ ${COMPREPLY[*]} == auto ]] || fail 'expected auto'
complete_line check file
[[ -z ${COMPREPLY[*]} ]] || fail 'expected nothing: bash completes files'
complete_line nonsense --x
[[ -z ${COMPREPLY[*]} ]] || fail 'expected nothing for a subcommand that is none'

# The scripts of the other shells have every command and option.
for shell in zsh fish; do
  try completion "$shell"
  expect_exit 0
  cp "$scratch/out" "$scratch/$shell"
  for command in $commands; do
    for option in $(options_of "$command"); do
      word=$option
      [[ $shell == zsh ]] || word="-l ${option#--} "
      grep -qF -- "$word" "$scratch/$shell" || fail "the script of $shell lacks $option of $command"
    done
  done
done
try completion tcsh
expect_exit 2
expect_err 'tcsh'
if command -v fish >/dev/null; then
  asked() { fish --no-config -c "source $scratch/fish; complete -C '$1'" | cut -f 1 >"$scratch/out"; }
  last='completion of fish'
  asked 'mla-testbed re'
  [[ $(<"$scratch/out") == replay ]] || fail 'expected replay'
  asked 'mla-testbed replay x --back'
  [[ $(<"$scratch/out") == --backend ]] || fail 'expected --backend'
  asked 'mla-testbed gfx ch'
  [[ $(<"$scratch/out") == check ]] || fail 'expected check'
  asked 'mla-testbed support --kind pre'
  [[ $(<"$scratch/out") == prefill ]] || fail 'expected prefill'
else
  echo 'no fish here: its script was not run'
fi
if command -v zsh >/dev/null; then
  zsh -n "$scratch/zsh" || fail 'zsh does not take its script'
else
  echo 'no zsh here: its script was not read'
fi
