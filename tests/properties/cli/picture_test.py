#!/usr/bin/env python3
"""docs/images/plan.svg is what `mla-testbed show` draws of the README's case.

    picture_test.py build/.../mla-testbed

Exit: 0 it is, 1 it differs (the command that draws it again is printed).
"""
import subprocess
import sys

from documented import ROOT
from documents_test import CASE

PICTURE = ROOT / "docs/images/plan.svg"


def main():
    done = subprocess.run([sys.argv[1], "show", CASE, "--svg", "-"], capture_output=True, check=True)
    if done.stdout == PICTURE.read_bytes():
        print(f"{PICTURE.name} is the plan of {CASE}")
        return 0
    print(f"{PICTURE.name} differs; draw it again: "
          f"mla-testbed show '{CASE}' --svg {PICTURE.relative_to(ROOT)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
