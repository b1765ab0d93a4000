#!/usr/bin/env python3
"""A library compiles whatever batches its sources fall into: each one is compiled as one batch.

    one_batch.py BUILD   of a configured build folder with batches (MLA_UNITY)

Sources of a library share a translation unit with those that happen to stand beside them, so a
new file could make two helpers of one name meet that never met before. Exit: 0 all compile, 1 one
does not, 10 the build has no batches.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from single_commands import alone


def syntax_only(entry: dict[str, str]) -> list[str]:
    """The command of a batch, for a source that comes from standard input and gives no object."""
    words = alone(entry["command"])
    for option in ("-o", "-MF", "-MT"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    left_out = ("-c", "-MD", entry["file"])
    return [*(word for word in words if word not in left_out), "-fsyntax-only", "-x", "c++", "-"]


def main() -> int:
    libraries: dict[Path, list[dict[str, str]]] = defaultdict(list)
    for entry in json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text()):
        batch = Path(entry["file"])
        if batch.parent.name == "Unity":
            libraries[batch.parent].append(entry)
    bad = 0
    for folder, entries in sorted(libraries.items()):
        texts = [Path(entry["file"]).read_text() for entry in entries]
        done = subprocess.run(
            syntax_only(entries[0]),
            input="\n".join(texts),
            text=True,
            capture_output=True,
            cwd=entries[0]["directory"],
        )
        if done.returncode:
            errors = re.findall(r"^.*error:.*$", done.stderr, re.MULTILINE)[:3]
            print(f"{folder.parent.stem}:", *(errors or [done.stderr[:500]]), sep="\n  ")
            bad = 1
    print(f"{len(libraries)} libraries were compiled as one batch each")
    return bad if libraries else 10


if __name__ == "__main__":
    sys.exit(main())
