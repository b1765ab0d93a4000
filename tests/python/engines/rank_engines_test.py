"""Whole engines of several ranks, unmodified and with one defect each: what finds it.

Skipped unless MLA_TESTBED_SGLANG or MLA_TESTBED_VLLM names an environment with the engine.
"""

import os
import subprocess

import installed
import pytest
import rank_plants
from mla_testbed.engines.client import Setting, interpreter

installed.needed()

#: What the first finding of a plant says; the plants without a finding have an empty one.
SHOWN = {
    "none": "",
    "sglang_padding_is_written": "P18 step",
    "sglang_graph_padding_is_written": "expected none, since no request is served",
    "sglang_no_idle_batch": "a collective that not all ranks reach: rank 0 waits in all_reduce",
    "sglang_own_sizes": "ranks call different collectives of one group",
    "sglang_rows_of_others": "tokens are those of float32",
    "sglang_stale_plan": "is covered by no work",
    "vllm_steps_in_a_queue": "a collective that not all ranks reach",
    "vllm_slot_0": "slots 0 of layer 0 changed; expected none, since no request is served",
    "vllm_stale_slots": "expected none, since no request is served",
    "vllm_stale_plan": "is covered by no work",
    "vllm_no_dummy": "a collective that not all ranks reach",
    "vllm_dcp_next_share": "P04 step",
    "vllm_dcp_base_2": "first fault: step 1, layer 0",
    "vllm_dcp_no_gather": "a collective that not all ranks reach"}


def environment_of(engine):
    variable = f"MLA_TESTBED_{engine.upper()}"
    if not os.environ.get(variable):
        pytest.skip(f"{variable} does not name an environment with {engine}")
    # What whole runs of vLLM need beside its builders.
    needed = "compressed_tensors" if engine == "vllm" else "sglang"
    if subprocess.run([interpreter(Setting(engine)), "-c", f"import importlib.util as u, sys; "
                       f"sys.exit(u.find_spec('{needed}') is None)"], check=False).returncode:
        pytest.skip(f"the environment of {variable} lacks {needed} (docs/use/engines.md#whole)")


@pytest.mark.parametrize("group", rank_plants.GROUPS)
def test_ranks_pass_and_each_of_their_plants_fails_by_what_finds_it(group):
    engine = group.partition("-")[0]
    environment_of(engine)
    found = installed.planted(engine, rank_plants, [group])
    assert list(found) == list(rank_plants.GROUPS[group])
    for plant, (verdict, findings, idle, tokens) in found.items():
        assert verdict == ("fail" if SHOWN[plant] else "pass"), (plant, findings)
        assert any(SHOWN[plant] in line for line in findings or [""]), (plant, findings)
        if not SHOWN[plant]:
            assert len(idle) == (0 if group == "vllm-dcp" else 2)
            assert all(idle), idle
            # Ranks that share contexts give all tokens each.
            assert group == "sglang-fp8" or tokens == ([36, 36] if group == "vllm-dcp"
                                                       else [18, 18])
