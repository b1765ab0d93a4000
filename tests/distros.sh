#!/usr/bin/env bash
# Runs the README's two commands in a fresh root of another Debian release, as a new user would.
#
#   tests/distros.sh trixie                        both commands, in a new root under build/distros
#   tests/distros.sh trixie properties/run.sh --cases 50    one command with arguments
#
# Needs root, debootstrap and the archive. What is tested is the last commit, not the work tree.
# MLA_DISTROS names another folder for the roots; a root that is there is used again.
# Exit: that of the command; 2 usage, 3 no root could be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=${1-}
case $release in
  bookworm | trixie) shift ;;
  *)
    echo "usage: tests/distros.sh bookworm|trixie [COMMAND...]; the release is '$release'" >&2
    exit 2
    ;;
esac
[[ $(id -u) -eq 0 ]] || { echo "distros: a root file system is made as root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "distros: there is no debootstrap" >&2; exit 3; }

root=${MLA_DISTROS:-$PWD/build/distros}/$release
mirror=http://deb.debian.org/debian
if [[ ! -e $root/made ]]; then
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase "$release" "$root" "$mirror" >&2 || exit 3
  cat >"$root/etc/apt/sources.list" <<EOF
deb $mirror $release main
deb $mirror $release-updates main
deb $mirror-security $release-security main
EOF
  touch "$root/made"
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/dev/pts" || mount -t devpts devpts "$root/dev/pts"
trap 'umount "$root/dev/pts" "$root/proc"' EXIT

rm -rf "$root/clone"
git clone -q . "$root/clone"
run() { chroot "$root" env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 bash -c 'cd /clone && "$@"' - "$@"; }
if (($#)); then
  run "$@"
else
  run properties/run.sh
  run tests/run.sh
fi
