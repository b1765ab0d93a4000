#!/usr/bin/env bash
# Adds the SBOM and SHA256SUMS to the files of a release, when all of them are there.
#
#   finish.sh FOLDER VERSION COMMIT
#
# Exit: 0, or 1 with a sentence: a file of a release is missing, or one belongs to none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1?finish.sh needs a folder}"
version=$2 commit=$3

fail() {
  echo "finish: $1" >&2
  exit 1
}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "the version is '$version'; expected 1.2.3"
wanted=("mla_testbed-$version.tar.gz")
for machine in x86_64 aarch64; do
  wanted+=("mla_testbed-$version-py3-none-*manylinux_*_$machine.whl"
    "mla-testbed-$version-$machine.tar.gz")
done
for machine in amd64 arm64; do wanted+=("mla-testbed_${version}_$machine.deb"); done
known=()
for pattern in "${wanted[@]}"; do
  mapfile -t found < <(compgen -G "$pattern")
  ((${#found[@]} == 1)) || fail "there are ${#found[@]} files '$pattern'; expected one"
  known+=("${found[0]}")
done
for file in *; do
  [[ " ${known[*]} " == *" $file "* ]] || fail "'$file' belongs to no release"
done
"$here/sbom.py" "$commit" "${known[@]}" >"mla-testbed-$version.spdx.json"
sha256sum -- "${known[@]}" "mla-testbed-$version.spdx.json" >SHA256SUMS
