#!/usr/bin/env python3
"""No page, action, workflow or recipe leaves the address of this repository to the reader.

`<owner>/mla-testbed` or `git clone <this repository>` is a line that nobody can run. A text needs
no owner (a path in a clone), asks GitHub for it (`github.repository`), or names a variable that is
set once (`vars.MLA_TESTBED`, docs/use/ci.md).

    tests/style/placeholders.py            # all texts
    tests/style/placeholders.py FILE...    # these

Exit: 0 there is none, 1 there is one (file, line and placeholder are printed).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWNER = (
    r"(?:your|this|the|my|github|repo(?:sitory)?)?[ _-]?"
    r"(?:owners?|org(?:ani[sz]ation)?|repo(?:sitory)?|fork)"
)
PLACEHOLDER = re.compile(
    rf"<{OWNER}(?:[ _/-](?:name|url|address))?>"  # <owner>, <this repository>, <repository URL>
    rf"|(?<![\w.])(?:YOUR[-_ ])?(?:OWNER|ORG)/mla-testbed"  # OWNER/mla-testbed
    r"|\b(?:your|my)-(?:org|name|user)/mla-testbed",
    re.IGNORECASE,
)
TEXTS = [
    "*.md",
    "*.toml",
    "*.cff",
    "Containerfile",
    "docs/**/*.md",
    ".github/**/*",
    ".devcontainer/*",
    "tests/properties/cli/documented_commands.txt",
]


def found(file: pathlib.Path) -> list[str]:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [
        f"{number}: {match.group()}"
        for number, line in enumerate(lines, 1)
        for match in PLACEHOLDER.finditer(line)
    ]


def main() -> int:
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    if not files:
        files = sorted({file for pattern in TEXTS for file in ROOT.glob(pattern) if file.is_file()})
    wrong = [f"{file}:{where}" for file in files for where in found(file)]
    print("\n".join(wrong) if wrong else f"{len(files)} texts leave no address open")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
