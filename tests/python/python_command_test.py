"""mla-testbed-python: what it refuses before it runs a script. Nothing here needs torch."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from mla_testbed import python_command


@pytest.fixture
def script(tmp_path: pathlib.Path) -> pathlib.Path:
    """A script that leaves a file."""
    made = tmp_path / "script.py"
    made.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    return made


@pytest.mark.parametrize("where", [
    "missing/findings.json", ".", "script.py/findings.json", "long" * 100])
def test_findings_that_cannot_be_written_are_refused_before_the_script_runs(
        script: pathlib.Path, capsys: Any, where: str) -> None:
    path = script.parent / where
    assert python_command.main(["--findings", str(path), "--", str(script)]) == 2
    assert capsys.readouterr().err == (
        f"mla-testbed-python: findings cannot be written to '{path}'\n")
    assert not (script.parent / "ran").exists()


def test_findings_are_looked_for_where_the_command_was_started(
        script: pathlib.Path, monkeypatch: Any) -> None:
    given = []
    monkeypatch.setattr(python_command, "_run", lambda options, _: given.append(options) or 0)
    monkeypatch.chdir(script.parent)
    assert python_command.main(["--findings", "found.json", "--", str(script)]) == 0
    assert given[0].findings == script.parent / "found.json"
    assert not (script.parent / "found.json").exists()


#: Of an operation that is registered in Python, as AITER's torch_compile_guard registers them.
ALLOCATES = """
import torch
for space in ("aiter", "of_a_test"):
    library = torch.library.Library(space, "FRAGMENT")
    library.define("allocates(Tensor x) -> Tensor")
    def body(x):
        made = torch.empty_like(x)
        seen.append(made.is_cuda)  # what comes out of an operation is on the device in any case
        return made
    library.impl("allocates", body, "CPU")
    x = torch.ones(3, device="cuda")
    seen = []
    getattr(torch.ops, space).allocates(x)
    assert seen == [True], space
    library._destroy()
"""


def test_what_an_operation_of_python_allocates_is_on_the_device(script: pathlib.Path) -> None:
    torch = pytest.importorskip("torch", reason="a script needs torch, which is not installed")
    before = torch.library.Library.impl
    script.write_text(ALLOCATES)
    assert python_command.main(["--modules", "ported", "--", str(script)]) == 0
    assert torch.library.Library.impl is before
