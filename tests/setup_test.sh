#!/usr/bin/env bash
# tests/setup.sh on systems that have this and lack that: what is installed, named, or refused.
#
# The system is played: `have` is installed, `archive` can be installed, `root` tells who runs it.
# No package is touched. Exit: 0 all as it should be, 1 not.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Runs need_packages with the arguments; the answer is its exit code and all that it printed.
asked() {
  (
    set -e
    . tests/setup.sh
    command() { [[ $1 == -v ]] && [[ " $managers cmake ninja c++ " == *" $2 "* ]]; }
    is_installed() { [[ " $have " == *" $1 "* ]]; }
    is_available() { [[ " $archive " == *" $1 "* ]]; }
    root_prefix() { [[ $root == yes ]] && echo echo ran; }
    env() { echo "for real: $*"; }
    apt-get() { echo "for real: $*"; }
    dnf() { echo "for real: $*"; }
    CI=$ci CXX=c++
    need_packages "$@"
  ) 2>&1
  echo "exit $?"
}

failures=0
expect() { # TITLE, what the answer has, what it has not (empty: anything), the answer
  [[ $4 == *"$2"* ]] || { echo "FAILED: $1: no '$2' in: $4"; failures=1; }
  [[ -z $3 || $4 != *"$3"* ]] || { echo "FAILED: $1: '$3' in: $4"; failures=1; }
}

managers=apt-get have="g++ cmake" archive="g++ cmake catch2 clang-21" root=yes ci=
expect "all is there" "exit 0" "ran" "$(asked g++ cmake)"
expect "root installs what is missing" "install -y --no-install-recommends catch2" "g++" "$(asked g++ catch2)"
expect "an older clang will do" "--no-install-recommends clang-21" "no package" "$(asked clang-22)"
expect "what no archive has is named" "this system has no package libnone" "install -y" "$(asked libnone)"
expect "what no archive has is no error outside CI" "exit 0" "" "$(asked libnone)"
ci=true
expect "what no archive has stops CI" "exit 3" "" "$(asked libnone)"
ci= have="g++ cmake clang-21"
expect "an older clang that is installed is enough" "exit 0" "ran" "$(asked clang-22)"
root=no
expect "who may not install gets the line" "sudo apt-get install catch2" "ran" "$(asked catch2)"
expect "and exit 3" "exit 3" "" "$(asked catch2)"
expect "who may not install is not stopped by what cannot be had" "exit 0" "sudo" "$(asked g++ libnone)"
managers=dnf archive="gcc-c++ rapidcheck-devel" root=yes have=
expect "dnf gets Fedora's names, each once" "dnf install -y gcc-c++ rapidcheck-devel" "apt" "$(asked g++ g++ librapidcheck-dev)"
managers=none
expect "without a package manager the packages are named" "equivalents of Debian's libxtensor-dev" "ran" "$(asked libxtensor-dev)"
exit $failures
