"""What mkdocs does with docs/: navigation, links out of the folder, pages of the interfaces."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Where files outside of docs/ are looked at; without it links to them become plain text.
REPOSITORY = os.environ.get("MLA_TESTBED_REPOSITORY", "")
LINK = re.compile(r"(\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)")
PYTHON = """# Python interface

::: mla_testbed.planning
::: mla_testbed.judging
::: mla_testbed.asserting
::: mla_testbed.bundle
::: mla_testbed.kernels
::: mla_testbed.cache_kernels
::: mla_testbed.array_types
::: mla_testbed.errors
"""


def on_config(config: Any) -> Any:
    """The navigation: a tab for each reader of docs/README.md, then what it leaves out."""
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    nav: list[Any] = [{"Home": "README.md"}]
    listed = {"README.md"}
    for part in text.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        pages = []
        for name, target in re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)\)", body):
            if target not in listed and (DOCS / target).is_file():
                listed.add(target)
                pages.append({name: target})
        if pages:
            nav.append({title: pages})
    rest = sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md"))
    more: dict[str, list[str]] = {}
    for page in rest:
        if page not in listed:
            more.setdefault(page.partition("/")[0], []).append(page)
    nav.append({"More": [{folder: pages} for folder, pages in more.items()]})
    nav.append({"Interfaces": [{"Python": "interface-python.md"}, {"C and C++": "interface-c.md"}]})
    config.nav = nav
    return config


def on_files(files: Any, config: Any) -> Any:
    """The pages that are made of sources."""
    files.append(File.generated(config, "interface-python.md", content=PYTHON))
    files.append(File.generated(config, "interface-c.md", content=(
        "# C and C++ interface\n\n"
        "The headers that an installation has, as Doxygen shows them: "
        '<a href="c/index.html">classes, functions and files</a>.\n')))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that lead out of docs/ go to the repository, or stay text."""
    here = (DOCS / page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        path = pathlib.Path(os.path.normpath(here / target))
        if path.is_relative_to(DOCS) and path.is_file():
            return match[0]
        inside = path.relative_to(ROOT) if path.is_relative_to(ROOT) and path.exists() else None
        if inside is None:
            return match[0]  # mkdocs says that it is broken
        if not REPOSITORY:
            return words[1:-1]
        return f"{words}({REPOSITORY}/blob/main/{inside}{anchor})"

    return LINK.sub(replace, markdown)
