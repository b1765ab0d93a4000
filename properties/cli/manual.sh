#!/usr/bin/env bash
# manual.sh COMMAND [FILE]: the manual page of mla-testbed, made of what `--help` says of it and of
# every subcommand, to FILE or stdout.
set -euo pipefail
command=$1
[[ $# -lt 2 ]] || exec >"$2"

# A help text as a section of the page: options as items, text filled, examples as they are.
# shellcheck disable=SC2016  # awk's variables
page='
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text
}
function plain(text) { return (text ~ /^[.\x27]/ ? "\\&" : "") roff(text) }
function ended() { if (example) print ".EE"; example = 0 }
function title(text) { ended(); print top ? ".SH \"" plain(text) "\"" : ".PP\n.B \"" plain(text) "\"" }
{ kind = tolower($0) }
NR == 1 { if (!top) print plain($0) "."; next }
kind ~ /^usage:/ || kind ~ /^  mla-testbed .*\[options\]/ || kind ~ /^ *-h, *--help/ { next }
kind == "options:" || kind == "positionals:" { table = 1; next }
kind == "subcommands:" { table = 0; listed = 1; next }
/^$/ { ended(); gap = !table && !listed; table = listed = 0; next }
gap && !/^ / && !/:$/ { print ".PP" }
{ gap = 0 }
listed { next }
table && substr($0, 1, 25) ~ /^ +$/ { sub(/^ +/, ""); print plain($0); next }
table {
  name = $0
  about = ""
  if (match(substr($0, 30), /^ /)) { name = substr($0, 1, 30); about = substr($0, 31) }
  gsub(/^ +| +$/, "", name)
  gsub(/ +/, " ", name)
  print ".TP\n.B \"" plain(name) "\""
  if (about != "") print plain(about)
  next
}
/^  / { if (!example) print ".EX"; example = 1; print plain($0); next }
/:$/ { title(substr($0, 1, length($0) - 1)); next }
{ ended(); print plain($0) }
END { ended() }
'

subcommands() { # <words before them>
  "$command" "$@" --help | awk 'tolower($0) == "subcommands:" { on = 1; next } !/^ / { on = 0 } on { print $1 }'
}

version=$("$command" --version)
about=$("$command" --help | head -n 1)
printf '.TH MLA\\-TESTBED 1 "" "%s" "User Commands"\n' "${version//-/\\-}"
printf '.SH NAME\nmla\\-testbed \\- %s\n' "$about"
printf '.SH SYNOPSIS\n.B mla\\-testbed\n.I subcommand\n[\\fIoptions\\fR]\n'
printf '.PP\n.B mla\\-testbed\n\\-\\-version | \\-\\-help\n.SH SUBCOMMANDS\n'
section() { # <words of a subcommand>
  local words=$* inner
  printf '.SS "%s"\n' "${words//-/\\-}"
  "$command" "$@" --help | awk -v top=0 "$page"
  for inner in $(subcommands "$@"); do section "$@" "$inner"; done
}
for subcommand in $(subcommands); do section "$subcommand"; done
"$command" --help | sed '2,/^Subcommands:/Id' | awk -v top=1 'NR == 1 { print } NR > 1 && /^$/ { on = 1 } on' | awk -v top=1 "$page"
