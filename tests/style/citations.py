#!/usr/bin/env python3
"""Every citation such as `aiter.md 3.2` in a source names a section of docs/reference/contracts.

    tests/style/citations.py            # all sources
    tests/style/citations.py FILE...    # these

Exit: 0 all resolve, 1 one does not (file, line and section are printed).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACTS = ROOT / "docs/reference/contracts"
FOLDERS = ["core", "cpu_backend", "hip_backend", "properties", "tests"]
NUMBER = r"\d+(?:\.\d+)?"
# A page, then its sections: "3.2", "1, 3.2, 6", "2.1-2.4", "5 (fp8 kernel), 7". Comments may break
# the line anywhere, so comment marks are taken out first.
CITATION = re.compile(
    rf"(?<![/\w])(aiter|vllm_metadata|gfx_emulator)\.md[ ,]+"
    rf"({NUMBER}(?:\s*\([^)]*\))?(?:(?:, | and |-){NUMBER}(?:\s*\([^)]*\))?)*)")


def sections():
    found = {}
    for page in CONTRACTS.glob("*.md"):
        heads = re.findall(rf"^#+ ({NUMBER}) ", page.read_text(), re.M)
        found[page.stem] = set(heads)
    return found


def citations(text):
    """(offset, page, section) of every citation; offsets count in the text as it stands."""
    flat = re.sub(r"\n\s*(?://|#)", lambda m: " " * len(m.group()), text)
    flat = re.sub(r" {2,}", lambda m: " " + "\0" * (len(m.group()) - 1), flat)
    at = [i for i, char in enumerate(flat) if char != "\0"]
    for found in CITATION.finditer(flat.replace("\0", "")):
        listed = re.sub(r"\([^)]*\)", "", found.group(2))
        for section in re.findall(NUMBER, listed):
            yield at[found.start()], found.group(1), section


def sources():
    found = (f for folder in FOLDERS for f in (ROOT / folder).rglob("*"))
    return sorted(f for f in found if f.suffix in {".cpp", ".hpp", ".hip", ".txt"})


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]] or sources()
    known, count, missing = sections(), 0, 0
    for file in files:
        text = file.read_text()
        for offset, page, section in citations(text):
            count += 1
            if section not in known.get(page, set()):
                missing += 1
                line = text.count("\n", 0, offset) + 1
                print(f"{file}:{line}: docs/reference/contracts/{page}.md has no section {section}")
    print(f"{count} citations in {len(files)} files, {missing} without a section")
    return 1 if missing or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
