#!/usr/bin/env bash
# Every workflow passes actionlint; workflows, actions and dependabot's file pass zizmor.
#
#   workflow_lint.sh TOOL BUILD [FOLDER]   TOOL: actionlint or zizmor. It lies in BUILD/venv-TOOL, of the
#                                          version in requirements-TOOL.txt, and is installed once;
#                                          FOLDER has .github, by default that of this repository
#
# Exit: 0 they do, 1 one does not, 10 skipped: the tool cannot be installed. actionlint's package downloads its
# program from GitHub.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$root/tests/python/environment.sh"
tool=${1?workflow_lint.sh needs actionlint or zizmor}
build=$(cd "${2?workflow_lint.sh needs a build directory}" && pwd)
cd "${3-$root}"
requirements=$root/tests/style/requirements-$tool.txt
install() {
  timeout 300 "$1/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
}
log=$build/venv-$tool.txt
environment "$build/venv-$tool" "$(<"$requirements")" install >"$log" 2>&1 || {
  echo "skipped: pip install -r $requirements: $(tail -n 1 "$log")"
  exit 10
}
shopt -s nullglob
workflows=(.github/workflows/*.yml)
case $tool in
  actionlint) "$build/venv-$tool/bin/$tool" -no-color "${workflows[@]}" ;;
  zizmor) "$build/venv-$tool/bin/$tool" --offline --no-progress --quiet .github ;;
esac || exit 1
echo "${#workflows[@]} workflows pass $tool"
