#!/usr/bin/env python3
"""Whatever the headers declare for the host is there to be linked.

    declared.py LIBRARY HEADER...   Exit: 0 all are there, 1 one is not.
"""

import re
import subprocess
import sys
from pathlib import Path


def main() -> int:
    library, *headers = sys.argv[1:]
    declared: set[str] = set()
    for header in headers:
        text = re.sub(r"//.*", "", Path(header).read_text())
        block = text[text.index('extern "C" {') :]
        block = block[: block.index("\n}\n")]
        declared |= set(re.findall(r"^[\w:* ]+?\b(_{0,2}hip\w+)\(", block, re.MULTILINE))
    symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    defined = set(re.findall(r" [TW] (\w+)$", symbols, re.MULTILINE))
    missing = sorted(declared - defined)
    print(f"{len(declared)} functions are declared, {len(missing)} are not there", *missing)
    return 1 if missing or len(declared) < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
