#!/usr/bin/env bash
# Every workflow passes actionlint, and workflows, actions and dependabot's file pass zizmor.
#
#   workflow_lint.sh BUILD [FOLDER]   the tools lie in BUILD/venv-workflows and are installed once;
#                                     FOLDER has .github, by default that of this repository
#
# Exit: 0 they do, 1 one does not, 10 skipped: the tools cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$root/tests/python/environment.sh"
build=$(cd "${1?workflow_lint.sh needs a build directory}" && pwd)
cd "${2-$root}"
requirements=$root/tests/style/requirements.txt
install() {
  timeout 300 "$1/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
}
log=$build/venv-workflows.txt
environment "$build/venv-workflows" "$(<"$requirements")" install >"$log" 2>&1 || {
  echo "skipped: pip install -r $requirements: $(tail -n 1 "$log")"
  exit 10
}
bin=$build/venv-workflows/bin
code=0
shopt -s nullglob
"$bin/actionlint" -no-color .github/workflows/*.yml || code=1
"$bin/zizmor" --offline --no-progress --quiet .github || code=1
workflows=(.github/workflows/*.yml)
[[ $code -ne 0 ]] || echo "${#workflows[@]} workflows pass actionlint and zizmor"
exit $code
