"""Every test here runs Triton kernels on both emulated architectures; without Triton none does."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

_MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]

collect_ignore_glob: list[str] = []
if _MISSING:
    collect_ignore_glob = ["*_test.py"]


def pytest_report_header() -> str:
    if _MISSING:
        return f"triton kernels: skipped, {' and '.join(_MISSING)} not installed"
    import torch
    import triton

    return f"triton kernels: Triton {triton.__version__}, torch {torch.__version__}"


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Triton keeps what it compiles; never from another test run, unless the caller says where."""
    os.environ.setdefault("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    import mla_testbed.triton

    with mla_testbed.triton.emulated(request.param):
        yield request.param
