"""What a type checker says about calls: arrays are arrays, and buffers have their attributes."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

HERE = pathlib.Path(__file__).parent
CALLS = """\
import numpy as np
import mla_testbed as mla
from mla_testbed import kernels

buffers = mla.plan("mla1:1q1s9").buffers
reveal_type(buffers.work_indptr)
buffers.work_indptr.tolist()
buffers.work_indptr.to_list()
table, sums = np.zeros((1, 1), np.int32), np.zeros(2, np.int32)
kernels.expand_pages(table, sums, sums, 1)
kernels.expand_pages([[0]], sums, sums, 1)
kernels.expand_pages(table, sums, None, 1)
mla.plan_decode(sums, sums, sums, 16, 1, True, buffers)
mla.plan_decode(sums, sums, sums, 16, 1, True, 7)
"""
#: By line of the text above.
EXPECTED = {6: "numpy.ndarray", 8: '"to_list"', 11: '"expand_pages" has incompatible type "list',
            12: '"expand_pages" has incompatible type "None"',
            14: '"plan_decode" has incompatible type "int"'}


def test_a_type_checker_knows_arrays_from_what_is_none(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(HERE / "mypy.ini"), "--cache-dir",
         str(tmp_path / "cache"), str(file)], cwd=HERE.parents[1], capture_output=True, text=True,
        check=False)
    said: dict[int, str] = {}
    for line, text in re.findall(r"calls\.py:(\d+): (?:error|note): (.*)", found.stdout):
        said.setdefault(int(line), text)
    assert {line: EXPECTED[line] in said.get(line, "") for line in EXPECTED} == dict.fromkeys(
        EXPECTED, True), found.stdout
    assert "int32" in said[6] or "signedinteger" in said[6]
    errors = {int(line) for line in re.findall(r"calls\.py:(\d+): error", found.stdout)}
    assert errors == set(EXPECTED) - {6}
