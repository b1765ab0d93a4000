#!/usr/bin/env bash
# A corpus through its fuzz target: every input holds, and there is one.
#
#   corpus_test.sh <mla-fuzz> <target> <archive>
#
# Exit: that of mla-fuzz; 1 if it ends with 0 without having run an input, or takes a file that is
# not there for one that held.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xzf "$3" -C "$folder"
code=0
out=$("$1" "$2" "$folder/$2") || code=$?
echo "$out"
((code == 0)) || exit "$code"
missing=0
"$1" "$2" "$folder/none" || missing=$?
((missing == 3)) || { echo "a missing file ends with $missing, expected 3"; exit 1; }
grep -qE "^$2: [1-9][0-9]* inputs held" <<<"$out"
