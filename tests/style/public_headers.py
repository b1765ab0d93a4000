#!/usr/bin/env python3
"""What an installation ships: the headers in the file sets of the CMakeLists.txt, and no others.

Each one exists, does not call itself private, and includes no header of ours that is not shipped.

    tests/style/public_headers.py [ROOT]

Exit: 0 all is so, 1 something is not (header and reason are printed).
"""
import pathlib
import re
import sys

from cmake_targets import COMMAND
from includes import TOPS, read_includes

PRIVATE = re.compile(r"\bPrivate(?:\s+//)?\s+to\b")


def shipped(root):
    """Paths of the headers in all file sets, from the root."""
    for top in TOPS:
        for file in sorted((root / top).rglob("CMakeLists.txt")):
            folder = file.parent.relative_to(root)
            for command, arguments in COMMAND.findall(re.sub(r"#.*", "", file.read_text())):
                words = arguments.split()
                if command == "target_sources" and "FILE_SET" in words:
                    yield from ((folder / word).as_posix()
                                for word in words[words.index("FILES") + 1:])


def wrong(root, headers):
    includes = read_includes(root)
    for header in headers:
        if header not in includes:
            yield f"{header}: is listed and does not exist"
            continue
        if PRIVATE.search((root / header).read_text()):
            yield f"{header}: is shipped and calls itself private"
        for used in includes[header]:
            if used not in headers:
                yield f"{header}: is shipped and includes {used}, which is not"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parents[2]
    headers = set(shipped(root))
    found = sorted(wrong(root, headers)) if headers else ["no file set has a header"]
    print("\n".join(found) or f"{len(headers)} headers are shipped, and all that they include")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
