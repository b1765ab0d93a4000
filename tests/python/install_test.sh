#!/usr/bin/env bash
# pip install . in a fresh virtual environment: the package, its library, the command on the PATH,
# and the script of README.md.
#
#   install_test.sh SCRATCH
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$1
rm -rf "$scratch" && mkdir -p "$scratch"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet "$root"
cd "$scratch"
unset MLA_TESTBED_LIBRARY PYTHONPATH
export PATH=$scratch/venv/bin:$PATH
sed -n '/^## From Python/,/^## Exit/s/^    //p' "$root/README.md" >readme.py
[[ $(wc -l <readme.py) -eq 5 ]] || { echo "README.md has no script of five lines" >&2; exit 1; }
[[ $(python readme.py) == $'valid\npass' ]] || { echo "the script of README.md failed" >&2; exit 1; }
[[ $(command -v mla-testbed) == "$scratch/venv/bin/mla-testbed" ]]
mla-testbed replay 'mla1:1q1s40;cu=4' --backend hip --device emulated:gfx942 --property P12
python -c 'import mla_testbed, sys; sys.exit(mla_testbed.version() not in sys.argv[1])' \
  "$(mla-testbed --version)"
