#!/usr/bin/env python3
"""The notes of a release: its section of CHANGELOG.md, and how to install it.

    notes.py TAG [REPOSITORY]     TAG is v and the version of CMakeLists.txt; REPOSITORY is owner and
                                  name on GitHub, whose registry has the image

Prints Markdown. GitHub breaks a line of notes where the text does: paragraphs become one line.
Exit: 0, or 1 with a sentence: the tag is not of this version, or the section is missing, empty or
too long.
"""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 125_000  # characters that GitHub takes


def version_of(cmake: str) -> str:
    found = re.search(r"^project\(mla-testbed VERSION ([\d.]+)", cmake, re.MULTILINE)
    if not found:
        raise SystemExit("notes: CMakeLists.txt names no version")
    return found.group(1)


def section(changes: str, version: str) -> str:
    """What stands below `## VERSION` of CHANGELOG.md."""
    parts = re.split(r"^## (.+)$", changes, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    # A section may have a date after its version.
    texts = [text for title, text in sections.items() if title.split()[0] == version]
    if len(texts) != 1:
        raise SystemExit(
            f"notes: CHANGELOG.md has {len(texts)} sections '## {version}'; expected one "
            f"(it has {', '.join(sections)})"
        )
    if not texts[0].strip():
        raise SystemExit(f"notes: the section '## {version}' of CHANGELOG.md is empty")
    return texts[0].strip()


def unwrapped(text: str) -> str:
    """The text with each paragraph and each item on one line; blocks of code stay."""
    lines: list[str] = []
    fenced = open_ended = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        starts = re.match(r"\s*(?:[-*+] |\d+\. |#|\||>|```)|\s*$", line)
        if open_ended and not fenced and not starts:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
            open_ended = bool(
                not fenced
                and not fence
                and line.strip()
                and not re.match(r"\s*(?:#|\|)|    ", line)
            )
    return "\n".join(lines)


def absolute(text: str, repository: str, tag: str) -> str:
    """Relative links lead to the tag's files."""
    base = f"https://github.com/{repository}/blob/{tag}/"
    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", lambda link: f"]({base}{link.group(1)})", text)


def install(version: str, repository: str) -> str:
    lines = [
        "## Install",
        "",
        "`SHA256SUMS` has the checksums of all files, `*.spdx.json` what they are made of.",
        "",
        "```sh",
    ]
    for machine, deb in (("x86_64", "amd64"), ("aarch64", "arm64")):
        lines += [
            f"# {machine}",
            f"pip install ./mla_testbed-{version}-py3-none-*_{machine}.whl",
            f"sudo apt install ./mla-testbed_{version}_{deb}.deb",
            f"tar -xzf mla-testbed-{version}-{machine}.tar.gz",
        ]
    if repository:
        lines += [
            "# both",
            f"docker run --rm ghcr.io/{repository.lower()}:{version} plan 'mla1:1q2s300;cu=4'",
        ]
    return "\n".join([*lines, "```"])


def notes(tag: str, repository: str, cmake: str, changes: str) -> str:
    version = version_of(cmake)
    if tag != f"v{version}":
        raise SystemExit(
            f"notes: the tag is '{tag}'; CMakeLists.txt has version {version}, expected v{version}"
        )
    if repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise SystemExit(
            f"notes: the repository is '{repository}'; expected an owner, a slash and a name"
        )
    text = unwrapped(section(changes, version))
    if repository:
        text = absolute(text, repository, tag)
    text += "\n\n" + install(version, repository)
    if len(text) > LIMIT:
        raise SystemExit(f"notes: {len(text)} characters; GitHub takes {LIMIT}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the notes of a release.")
    parser.add_argument("tag")
    parser.add_argument("repository", nargs="?", default="")
    given = parser.parse_args()
    print(
        notes(
            given.tag,
            given.repository,
            (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"),
            (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        )
    )


if __name__ == "__main__":
    main()
