"""Releases of engines that whole runs serve, and what is asked of each release of vLLM: as the
newest does by itself, whatever was set."""

import os
import re

import pytest
from mla_testbed.engines.sglang import releases as sglang
from mla_testbed.engines.vllm import releases

#: What a run depends on, and why it would be another one.
ASKED = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_ROCM_USE_AITER_RMSNORM": "0",
         "VLLM_ROCM_USE_AITER_LINEAR": "0", "VLLM_ROCM_USE_AITER_FP8BMM": "0",
         "VLLM_ROCM_USE_AITER_FP4BMM": "0", "VLLM_USE_V2_MODEL_RUNNER": "1"}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("before", [None, "1", "0"])
def test_a_variable_is_what_the_newest_release_has_by_itself(monkeypatch, name, before):
    for other in (*ASKED, "TORCHDYNAMO_DISABLE"):
        monkeypatch.setenv(other, "")  # so that the end of the test takes back what is set
    monkeypatch.delenv(name) if before is None else monkeypatch.setenv(name, before)
    releases.settle("ported")
    assert os.environ[name] == ASKED[name]


def test_torch_compiles_if_the_user_asks_for_it(monkeypatch):
    for name in ASKED:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "0")
    releases.settle("ported")
    assert os.environ["TORCHDYNAMO_DISABLE"] == "0"


@pytest.mark.parametrize("engine", [releases, sglang], ids=["vllm", "sglang"])
def test_the_releases_that_are_served_are_in_order_and_named(engine):
    parts = [tuple(map(int, one.split("."))) for one in engine.SERVED]
    assert parts == sorted(set(parts))
    first, last = re.findall(r"[0-9.]+", engine.SUPPORTED)
    assert (first, last) == (engine.SERVED[0], engine.SERVED[-1])
