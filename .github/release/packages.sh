#!/usr/bin/env bash
# Builds everything, and makes of it the archive and the Debian package that a release has.
#
#   packages.sh FOLDER
#
# The libraries are those of the commits that CMakeLists.txt pins, which the release's SBOM names,
# and device code is not optional. Exit: 0 both files are in FOLDER, 3 a package of the system is
# missing.
set -euo pipefail
mkdir -p "${1?packages.sh needs a folder}"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CI=true # nothing may be missing
. tests/setup.sh
need_packages "${mla_judge_packages[@]}" "${mla_device_packages[@]}" ca-certificates file dpkg-dev
mla_configure=(-DMLA_TESTS=OFF -DMLA_BENCHMARKS=OFF -DMLA_DEPS=fetch -DHIP_BACKEND=ON)
build_preset cpu-release
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cpack --config build/cpu-release/CPackConfig.cmake -B "$scratch" >&2
cp "$scratch"/*.tar.gz "$scratch"/*.deb "$folder"
ls "$folder"
