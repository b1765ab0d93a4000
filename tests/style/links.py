#!/usr/bin/env python3
"""Every relative link of a page leads to a file, and to a heading of it if it names one.

So does every page that a source names: docs/reference/cases.md in a comment, message or ledger.

    tests/style/links.py            # all pages, all sources
    tests/style/links.py FILE...    # these

Exit: 0 all resolve, 1 one does not (page, line and link are printed).
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
MENTION = re.compile(r"(?<![\w/])docs/[\w/.-]+\.md(?:#[\w-]+)?")
TOP = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
FOLDERS = [".github", "core", "cpu_backend", "fixtures", "hip_backend", "properties", "tests"]
SOURCES = {".cpp", ".hpp", ".h", ".hip", ".py", ".sh", ".txt", ".cmake", ".json", ".yml", ".toml"}


@functools.cache
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


def targets(file):
    """(line, page that the link is relative to, link) of a page's links or a source's mentions."""
    text = file.read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if file.suffix == ".md":
            for target in LINK.findall(line):
                if not re.match(r"[a-z]+:", target):
                    yield number, file, target
        else:
            for target in MENTION.findall(line):
                yield number, ROOT / "README.md", target


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    if not files:
        files = [ROOT / name for name in TOP] + sorted((ROOT / "docs").rglob("*.md"))
        files += sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*")
                        if f.suffix in SOURCES and f.is_file())
    count, missing = 0, 0
    for file in files:
        for number, base, target in targets(file):
            count += 1
            if why := broken(base, target):
                missing += 1
                print(f"{file}:{number}: ({target}): {why}")
    print(f"{count} links in {len(files)} files, {missing} broken")
    return 1 if missing or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
