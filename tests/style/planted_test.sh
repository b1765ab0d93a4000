#!/usr/bin/env bash
# The formatter, the linter and the checks of citations, headers, includes, imports, links and
# placeholders complain about what deserves it.
set -euo pipefail
for tool in clang-format-19 clang-tidy-19; do
  command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 10; }
done
folder=$(mktemp -d "$PWD/build/planted.XXXXXX")
trap 'rm -rf "$folder"' EXIT

printf 'int  f( int a ){return a ;}\n' >"$folder/format.cpp"
if clang-format-19 --style=file:.clang-format --dry-run --Werror "$folder/format.cpp" 2>/dev/null
then
  echo "clang-format-19 accepts a source that is not formatted" >&2
  exit 1
fi

cat >"$folder/lint.cpp" <<'END'
#include <string>
#include <utility>
std::size_t use_after_move(std::string text) {
  const std::string taken = std::move(text);
  return taken.size() + text.size();
}
END
if clang-tidy-19 --config-file=.clang-tidy --quiet --warnings-as-errors='*' "$folder/lint.cpp" \
  -- -std=c++20 >/dev/null 2>&1
then
  echo "clang-tidy-19 accepts a use after a move" >&2
  exit 1
fi

mkdir -p "$folder/lib.dir/Unity"
for name in a b; do
  printf 'namespace { int helper() { return 1; } }\nint %s() { return helper(); }\n' $name >"$folder/$name.cpp"
  printf '#include "%s"\n' "$folder/$name.cpp" >"$folder/lib.dir/Unity/$name.cxx"
done
cat >"$folder/compile_commands.json" <<END
[{"directory": "$folder", "command": "c++ -c $folder/lib.dir/Unity/a.cxx", "file": "$folder/lib.dir/Unity/a.cxx"},
 {"directory": "$folder", "command": "c++ -c $folder/lib.dir/Unity/b.cxx", "file": "$folder/lib.dir/Unity/b.cxx"}]
END
if python3 tests/style/one_batch.py "$folder" >/dev/null; then
  echo "one_batch.py accepts two helpers of one name in one library" >&2
  exit 1
fi

printf '// Source: aiter.md 3.2,\n// 8.7.\n' >"$folder/cited.cpp"
if python3 tests/style/citations.py "$folder/cited.cpp" >/dev/null; then
  echo "citations.py accepts a section that does not exist" >&2
  exit 1
fi

mkdir "$folder/workflows"
cat >"$folder/workflows/planted.yml" <<'END'
permissions: {contents: read}
jobs:
  one:
    container: debian:12
    steps:
      - run: |
          set -o pipefail
          true | cat
END
if python3 tests/style/workflow_shells.py "$folder/workflows" >/dev/null; then
  echo "workflow_shells.py accepts pipefail in a container without shell: bash" >&2
  exit 1
fi

mkdir -p "$folder/core/numeric"
printf '#include <string>\nstd::uint32_t word;\n' >"$folder/core/numeric/word.cpp"
if python3 tests/style/std_headers.py "$folder" >/dev/null; then
  echo "std_headers.py accepts std::uint32_t without <cstdint>" >&2
  exit 1
fi
rm -r "$folder/core"

includes_find() {  # <file> <its text> <what is complained of>
  printf '%b\n' "$2" >"$folder/$1"
  if ! (python3 tests/style/includes.py "$folder" || true) | grep -F "$3" >/dev/null; then
    echo "includes.py accepts $1: $3" >&2
    exit 1
  fi
}
mkdir -p "$folder/core/case" "$folder/core/io"
printf 'mla_library(core)\n' >"$folder/core/CMakeLists.txt"
python3 tests/style/includes.py "$folder" >/dev/null
printf 'mla_library(io)\ntarget_sources(mla_io PRIVATE read.cpp)\n' >"$folder/core/io/CMakeLists.txt"
includes_find core/case/linked.cpp '#include "core/io/read.hpp"' \
  'core/case/linked.cpp core/io/read.hpp'
includes_find core/case/upward.cpp '#include "core/engine/backend.hpp"' 'lies above core/case'
includes_find core/case/catch.cpp '#include <catch2/catch.hpp>' 'a header of catch2'
printf '#include "core/case/two.hpp"\n' >"$folder/core/case/one.cpp"
includes_find core/case/two.hpp '#include "core/case/one.hpp"' \
  'circle of includes: core/case/one core/case/two'

headers_find() {  # <text of core/case/shipped.hpp> <what is said of it>
  printf '%b\n' "$1" >"$folder/core/case/shipped.hpp"
  if ! (python3 tests/style/public_headers.py "$folder" || true) | grep -F "$2" >/dev/null; then
    echo "public_headers.py does not say '$2' of $1" >&2
    exit 1
  fi
}
headers_find '#pragma once' 'no file set has a header'
printf 'mla_library(core)\ntarget_sources(mla_core PUBLIC FILE_SET HEADERS FILES case/shipped.hpp)\n' \
  >"$folder/core/CMakeLists.txt"
headers_find '#pragma once' '1 headers are shipped'
headers_find '// Parts. Private\n// to core.' 'calls itself private'
headers_find '#include "core/case/two.hpp"' 'includes core/case/two.hpp, which is not'
sed -i 's/shipped/missing/' "$folder/core/CMakeLists.txt"
headers_find '#pragma once' 'core/case/missing.hpp: is listed and does not exist'

package=$folder/properties/python/mla_testbed
mkdir -p "$package"
touch "$package/__init__.py"
for import in 'from . import one' 'from .one import X' 'import mla_testbed.one'; do
  printf 'def late() -> None:\n    %s\n' "$import" >"$package/two.py"
  printf 'X = 1\n' >"$package/one.py"
  python3 tests/style/python_imports.py "$folder" >/dev/null
  printf 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import two\n' \
    >"$package/one.py"
  if python3 tests/style/python_imports.py "$folder" >/dev/null; then
    echo "python_imports.py accepts a circle through a function with '$import'" >&2
    exit 1
  fi
done
printf 'X = 1\n' >"$package/one.py"
if PYTHONPATH=tests/style python3 -B - "$folder" >/dev/null <<'END'
import sys
import python_imports
python_imports.KNOWN = [{"mla_testbed.one", "mla_testbed.two"}]
sys.exit(python_imports.main())
END
then
  echo "python_imports.py accepts a known circle that is no longer there" >&2
  exit 1
fi

for target in no_such_page.md '../README.md#no-such-heading'; do
  printf '[here](%s)\n' "${target/..\/README.md/$PWD/README.md}" >"$folder/linked.md"
  if python3 tests/style/links.py "$folder/linked.md" >/dev/null; then
    echo "links.py accepts $target" >&2
    exit 1
  fi
done
printf '// As docs/%s says.\n' no_such_page.md >"$folder/named.cpp"
if python3 tests/style/links.py "$folder/named.cpp" >/dev/null; then
  echo "links.py accepts a source that names a page that does not exist" >&2
  exit 1
fi

for line in 'git clone <this repository>' 'uses: <owner>/mla-testbed/x@main' '<repository URL>' \
  'ghcr.io/OWNER/mla-testbed' 'your-org/mla-testbed'; do
  printf '%s\n' "$line" >"$folder/open.md"
  if python3 tests/style/placeholders.py "$folder/open.md" >/dev/null; then
    echo "placeholders.py accepts $line" >&2
    exit 1
  fi
done
