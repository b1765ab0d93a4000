"""pytest-xdist: cases and a suite on the plugin's machine are spread over workers."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

SHARDS = pathlib.Path(__file__).resolve().parents[2] / "docs/use/shards.md"
ON_A_DEVICE = """
import pytest
import torch


@pytest.mark.parametrize("n", range(1, 5))
def test_a_tensor_lies_on_the_device(n, worker_id):
    assert worker_id in ("gw0", "gw1")
    assert torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx950")
    assert torch.zeros(n, device="cuda").is_cuda
"""


def passed_by_two_workers(folder: pathlib.Path, text: str, *options: str) -> str:
    (folder / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *options,
         "test_it.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_recipe_of_the_docs_judges_its_four_cases(tmp_path):
    recipe = SHARDS.read_text().split("```python\n")[1].split("```")[0]
    assert "4 passed" in passed_by_two_workers(tmp_path, recipe)


def test_a_worker_that_sees_a_failure_fails_the_run(tmp_path):
    recipe = SHARDS.read_text().split("```python\n")[1].split("```")[0]
    planted = recipe.replace('"P12"]', '"P12"], plant="SEED-qo-arange"')
    with pytest.raises(AssertionError, match="FAIL P05,P12 mla1:"):
        passed_by_two_workers(tmp_path, planted)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_every_worker_has_a_machine_of_its_own(tmp_path):
    plugin = ("-p", "mla_testbed.pytest_plugin", "--mla-testbed-arch", "gfx950")
    assert "4 passed" in passed_by_two_workers(tmp_path, ON_A_DEVICE, *plugin)
