#!/usr/bin/env bash
# Every compiler here that the pages name accepts every C++ source: syntax and semantics, no code.
#
#   check_compilers.sh BUILD [COMPILER...]   of a configured build folder; COMPILER: g++-11, clang++-15,
#                                            clang++-19:libc++ ...; otherwise all that are installed
#
# Exit: 0 all accept, 1 one does not, 10 none is installed.
set -euo pipefail
build=$1
shift
asked=("$@")
((${#asked[@]})) || for name in g++-{11,12,13,14,15} clang++-{15,16,17,18,19,20,21,22}; do
  command -v "$name" >/dev/null || continue
  asked+=("$name")
  [[ $name != clang* ]] || ! echo '#include <version>' |
    "$name" -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null || asked+=("$name:libc++")
done
((${#asked[@]})) || { echo "no other compiler is installed" >&2; exit 10; }

# The build's own command lines, without what only its compiler takes, one a line: FILE TAB FLAGS.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
lines=$commands/lines
python3 "$(dirname "${BASH_SOURCE[0]}")/single_commands.py" "$build" "$commands"
python3 - "$commands/compile_commands.json" >"$lines" <<'END'
import json, re, shlex, sys
drop = re.compile(r"-(?:c|o|MD|MT|MF|Winvalid-pch|include|fno-semantic-interposition|f.*lto.*|Werror.*|O\d|g\d?)$")
for entry in json.load(open(sys.argv[1])):
    if not entry["file"].endswith(".cpp") or "/_deps/" in entry["file"]:
        continue
    words = shlex.split(entry["command"])
    start = next(i for i, w in enumerate(words) if w.startswith("-"))
    kept, skip = [], False
    for word in words[start:]:
        if skip or word == entry["file"]:
            skip = False
        elif word in ("-o", "-MT", "-MF", "-include"):
            skip = True
        elif not drop.match(word):
            kept.append(word)
    print(entry["file"], " ".join(shlex.quote(w) for w in kept), sep="\t")
END

one() {  # COMPILER FILE FLAGS
  local extra=()
  [[ $1 == clang* ]] && extra=(-Wno-unknown-warning-option -Wno-unused-command-line-argument)
  [[ $1 == *:libc++ ]] && extra+=(-stdlib=libc++)
  # clang finds its own omp.h only where its libomp is installed: what is OpenMP is read as plain C++.
  local flags=$3
  [[ $1 != clang* ]] || flags=${flags//-fopenmp/-Wno-source-uses-openmp}
  local said
  said=$(eval "${1%%:*} $flags ${extra[*]} -w -fsyntax-only '$2'" 2>&1) && return
  { echo "$1 does not accept $2:"; grep -m 3 'error' <<<"$said" || echo "$said" | head -3; } >&2
  return 1
}
export -f one

failed=0
for compiler in "${asked[@]}"; do
  if tr '\t\n' '\0\0' <"$lines" | xargs -0 -n 2 -P "$(nproc)" bash -c 'one "$0" "$1" "$2"' "$compiler"; then
    echo "$compiler accepts $(wc -l <"$lines") sources"
  else
    failed=1
  fi
done
exit "$failed"
