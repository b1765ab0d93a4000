#!/usr/bin/env bash
# Adds inputs to the shipped corpus of a fuzz target: a finding that is fixed, or new coverage.
#
#   tests/properties/fuzz/add_inputs.sh TARGET FILE...
#
# The archive depends on its inputs alone, not on their dates or order. Exit 2: wrong arguments.
set -euo pipefail
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/fixtures/corpus
target=${1-} archive=$corpus/${1-}.tar.gz
(($# >= 2)) && [[ -f $archive ]] || {
  echo "usage: $0 TARGET FILE...; targets: $(cd "$corpus" && ls | sed 's/\.tar\.gz//' | xargs)" >&2
  exit 2
}
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xzf "$archive" -C "$folder"
before=$(ls "$folder/$target" | wc -l)
for file in "$@"; do
  cp "$file" "$folder/$target/$(sha1sum <"$file" | cut -d' ' -f1)"
done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "$folder" -cf - "$target" |
  gzip -9n >"$archive.new"
mv "$archive.new" "$archive"
echo "$target: $(($(ls "$folder/$target" | wc -l) - before)) inputs added to $before"
