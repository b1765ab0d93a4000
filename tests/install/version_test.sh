#!/usr/bin/env bash
# version_test.sh <command>: the version in CMakeLists.txt is the one that everything else says.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
version=$(sed -n 's/^project(mla-testbed VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "FAILED: no version in CMakeLists.txt"; exit 1; }
wrong=0
says() { # <file> <what stands in it>
  grep -qF -- "$2" "$root/$1" || { echo "FAILED: $1 does not say '$2'"; wrong=1; }
}
says CHANGELOG.md "## $version"
says CITATION.cff "version: $version"
says docs/use/start.md "find_package(MlaTestbed ${version%.*} "
says docs/use/start.md "mla-testbed-$version-"
[[ $("$1" --version) == "mla-testbed $version" ]] || { echo "FAILED: $("$1" --version)"; wrong=1; }
exit $wrong
