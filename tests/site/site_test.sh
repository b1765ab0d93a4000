#!/usr/bin/env bash
# The pages of docs/ become a site, and a broken link or anchor is an error.
#
#   site_test.sh BUILD     the environment lies in BUILD/venv-site and is made once
#
# Exit: 0 it does, 1 it does not, 10 skipped: what the site needs cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/python/environment.sh
. "$root/tests/python/environment.sh"
build=$(cd "${1?site_test.sh needs a build directory}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
requirements=$root/.github/site/requirements.txt
install() { timeout 600 "$1/bin/pip" install --quiet -r "$requirements"; }
environment "$build/venv-site" "$(<"$requirements")" install || {
  echo "skipped: no virtual environment: pip install -r $requirements"
  exit 10
}
python=$build/venv-site/bin/python
fail() {
  echo "FAILED: $1"
  tail -n 20 "$scratch/out"
  exit 1
}

"$root/.github/site/build.sh" "$scratch/site" "$python" >"$scratch/out" 2>&1 && code=0 || code=$?
[[ $code -ne 10 ]] || { tail -n 1 "$scratch/out" && exit 10; }
[[ $code -eq 0 ]] || fail "the site cannot be built: exit $code"
has() { grep -q -- "$2" "$scratch/site/$1" || fail "$1 lacks $2"; }
has index.html 'I run an engine, and something is wrong'
has use/show.html 'prefers-color-scheme: dark'
has interface-python.html 'id="mla_testbed.asserting.assert_valid"'
has interface-python.html 'What is wrong is said as'
has c/mla__testbed_8h.html 'The page that <span class="tt">mla-testbed show</span>\|The page that `mla-testbed show` draws'
has search/search_index.json 'canary'

# A link and an anchor that lead nowhere.
mkdir -p "$scratch/copy/properties" "$scratch/copy/.github"
cp -r "$root/docs" "$scratch/copy/docs"
cp -r "$root/.github/site" "$scratch/copy/.github/site"
cp -r "$root/properties/python" "$scratch/copy/properties/python"
for link in 'nowhere.md' 'start.md#no-such-place'; do
  cp "$root/docs/use/show.md" "$scratch/copy/docs/use/show.md"
  printf '\n[a link](%s)\n' "$link" >>"$scratch/copy/docs/use/show.md"
  if "$scratch/copy/.github/site/build.sh" "$scratch/planted" "$python" >"$scratch/out" 2>&1; then
    fail "a link to $link is no error"
  fi
  grep -q "use/show.md.*$link" "$scratch/out" || fail "the error does not name $link"
done
