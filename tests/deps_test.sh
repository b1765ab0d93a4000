#!/usr/bin/env bash
# MLA_DEPS without a network: one sentence says what would be downloaded, and what to do instead.
#
#   deps_test.sh SOURCE
set -uo pipefail
source=${1?the source folder}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Whatever the machine reaches, GitHub is an empty folder here.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0=https://github.com/
export GIT_CONFIG_KEY_0="url.file://$scratch/nothing/.insteadOf"

fail() {
  echo "FAILED: $1"
  cat "$scratch/out"
  exit 1
}
# Line breaks are CMake's.
configure() {
  cmake -S "$source" -B "$scratch/build" -G Ninja "$@" >"$scratch/raw" 2>&1
  code=$?
  tr -s ' \n' ' ' <"$scratch/raw" >"$scratch/out"
}
expect() { grep -qE -- "$1" "$scratch/out" || fail "expected: $1"; }

configure -DMLA_DEPS=fetch
[[ $code -eq 1 ]] || fail "cmake ended with $code, expected 1"
expect 'rapidcheck would be downloaded from https://github.com/emil-e/rapidcheck at commit [0-9a-f]{40}, which cannot be reached'
expect 'or name a copy with -DFETCHCONTENT_SOURCE_DIR_RAPIDCHECK=<folder>'

# A copy is taken without a question to the network: the next library is the one that is missing.
mkdir "$scratch/copy"
cat >"$scratch/copy/CMakeLists.txt" <<'END'
add_library(rapidcheck INTERFACE)
END
configure -DMLA_DEPS=fetch "-DFETCHCONTENT_SOURCE_DIR_RAPIDCHECK=$scratch/copy"
[[ $code -eq 1 ]] || fail "cmake ended with $code, expected 1"
expect 'xtl would be downloaded from https://github.com/xtensor-stack/xtl at commit [0-9a-f]{40}'

configure -DMLA_DEPS=system -DCMAKE_DISABLE_FIND_PACKAGE_xtl=ON
expect 'MLA_DEPS=system, and the system has no xtl for CMake'
configure -DMLA_DEPS=anything
expect "MLA_DEPS is 'anything'; it is one of auto, system, fetch"
# Every library is pinned to a whole hash, which is its checksum.
pins=$(grep -cE '^ *mla_dependency\(\w+ \$\{github\}/\S+ [0-9a-f]{40}\)$' "$source/CMakeLists.txt")
all=$(grep -cE '^ *mla_dependency\(' "$source/CMakeLists.txt")
echo "$pins pins of $all" >"$scratch/out"
[[ $pins -eq $all && $all -gt 5 ]] || fail 'a library is not pinned to a commit'
