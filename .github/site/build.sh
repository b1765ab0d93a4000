#!/usr/bin/env bash
# The pages of docs/ as a site, with those of Python and of the C and C++ headers.
#
#   .github/site/build.sh FOLDER [PYTHON]     PYTHON has what requirements.txt names
#
# Beside them plan.html: the page that plans, checks and draws (properties/browser/build.sh).
#
# A broken link or anchor, or a page that no list names, is an error. MLA_TESTBED_REPOSITORY is the
# address of the repository: links to files outside of docs/ lead there. Exit: 1 where something is
# broken, 10 where mkdocs or Doxygen is missing.
set -euo pipefail
folder=$(realpath -m "${1?build.sh needs a folder}") python=${2:-python3}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for module in mkdocs material mkdocstrings; do
  "$python" -c "import $module" 2>/dev/null || {
    echo "skipped: $python has no $module: pip install -r .github/site/requirements.txt"
    exit 10
  }
done
command -v doxygen >/dev/null || {
  echo "skipped: there is no doxygen"
  exit 10
}
export NO_MKDOCS_2_WARNING=1 PYTHONPATH=$PWD/.github/site PYTHONDONTWRITEBYTECODE=1
"$python" -m mkdocs build --strict --config-file .github/site/mkdocs.yml --site-dir "$folder"
(
  cat .github/site/Doxyfile
  echo "OUTPUT_DIRECTORY = \"$folder\""
) | doxygen -
# Without a compiler for WebAssembly the site is whole but for that page.
properties/browser/build.sh "$folder/plan.html" || [[ $? -eq 10 && ! ${CI-} ]]
echo "site: $(find "$folder" -name '*.html' | wc -l) pages in $folder"
