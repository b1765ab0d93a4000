#!/usr/bin/env python3
"""Every relative link of README.md and docs/ leads to a file, and to a heading of it if it names one.

    tests/style/links.py            # all pages
    tests/style/links.py FILE...    # these

Exit: 0 all resolve, 1 one does not (page, line and link are printed).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """What a link may name: the headings as GitHub slugs them, and explicit ids."""
    text = page.read_text()
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(slug)
    return found


def broken(page, target):
    """Why the link leads nowhere, or nothing."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page.resolve()
    if not file.exists():
        return "there is no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "the page has no such heading"
    return ""


def main():
    pages = [pathlib.Path(name) for name in sys.argv[1:]]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    count, missing = 0, 0
    for page in pages:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                if why := broken(page, target):
                    missing += 1
                    print(f"{page}:{number}: ({target}): {why}")
    print(f"{count} links in {len(pages)} pages, {missing} broken")
    return 1 if missing or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
