#!/usr/bin/env python3
"""The pictures in docs/images are what the command draws.

    picture_test.py build/.../mla-testbed            compares
    picture_test.py --draw build/.../mla-testbed     draws them again

Exit: 0 they are, 1 one differs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from documented import ROOT
from documents_test import CASE

IMAGES = ROOT / "docs/images"
SWEEP = ["time", "mla1:1q1s1k;arch=gfx950;dtype=fp8/fp8", "--sweep"]
DEFECT = ["replay", "mla1:2q4s40;heads=8", "--property", "P12", "--plant", "SEED-qo-arange"]


def shown(testbed, what):
    return subprocess.run([testbed, "show", what, "--svg", "-"], capture_output=True, check=True,
                          cwd=ROOT).stdout.decode()


def swept(testbed):
    return subprocess.run([testbed, *SWEEP, "--svg", "-"], capture_output=True, check=True,
                          cwd=ROOT).stdout.decode()


def error_map(testbed):
    """The first picture of a failure's page, with the page's style; values depend on the machine."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        subprocess.run([testbed, *DEFECT, "--html", page], capture_output=True, check=False)
        text = page.read_text()
    picture = re.search(r'<svg [^>]*aria-label="The error of.*?</svg>\n', text, re.S).group(0)
    style = re.search(r"^text \{.*?(?=@media \(max-width)", text, re.S | re.M).group(0)
    picture = re.sub(r"<title>.*?</title>", "", picture, flags=re.S)
    head = picture.index(">") + 1
    return f"{picture[:head]}\n<style>\n{style}</style>{picture[head:]}"


def main(arguments):
    testbed = arguments[-1]
    pictures = {"plan.svg": shown(testbed, CASE),
                "broken.svg": shown(testbed, "fixtures/bundles/word"),
                "errors.svg": error_map(testbed),
                "times.svg": swept(testbed)}
    wrong = 0
    for name, drawn in pictures.items():
        if "--draw" in arguments:
            (IMAGES / name).write_text(drawn)
        if (IMAGES / name).read_text() != drawn:
            wrong += 1
            print(f"docs/images/{name} differs; draw it again: picture_test.py --draw {testbed}")
    print(f"{len(pictures)} pictures, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
