"""What docs/use/python.md shows is what happens."""

from __future__ import annotations

import doctest
import io
import pathlib
from contextlib import redirect_stdout

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_sessions_of_the_page_are_true() -> None:
    page = ROOT / "docs/use/python.md"
    found = doctest.testfile(str(page), module_relative=False,
                             optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.attempted > 10
    assert found.failed == 0


def test_the_session_of_the_page_on_sparse_attention_is_true() -> None:
    page = ROOT / "docs/use/sparse.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted == 5
    assert found.failed == 0


def test_the_docstring_of_the_package_is_true() -> None:
    import mla_testbed  # noqa: PLC0415
    found = doctest.testmod(mla_testbed)
    assert found.attempted == 4
    assert found.failed == 0


def test_the_script_of_the_page_ends_as_it_says() -> None:
    page = (ROOT / "docs/use/python.md").read_text()
    section = page.split("## Five lines\n")[1].split("\n## ")[0]
    script = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert len(script) == 5
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile("\n".join(script), "python.md", "exec"), {})  # noqa: S102
    assert "prints `valid` and `pass`" in section
    assert out.getvalue().splitlines() == ["valid", "pass"]
