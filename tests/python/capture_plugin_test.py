"""Steps of an engine that is not edited are dumped with what its builder was told, and judged."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import types

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import capture_plugin, mla_scheduler

# The planner leaves what was planned elsewhere: the builder's lists are what is judged.
AITER = """
import json, os
import numpy as np

PLAN = json.loads(os.environ["PLAN"])
NAMES = ("work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
         "reduce_partial_map")


def get_mla_metadata_v1(seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens,
                        num_heads_per_head_k, num_heads_k, is_causal, work_metadata_ptrs,
                        work_indptr, work_info_set, reduce_indptr, reduce_final_map,
                        reduce_partial_map, page_size=1, max_seqlen_qo=-1, uni_seqlen_qo=-1):
    for name in NAMES:
        locals()[name][:] = PLAN[name]
"""
KERNEL = """
def mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens,
                   max_seqlen_q, page_size=1, sm_scale=None, num_kv_splits=None, q_scale=None,
                   work_meta_data=None, work_indptr=None, work_info_set=None, reduce_indptr=None,
                   reduce_final_map=None, reduce_partial_map=None, causal=True, kv_scale=None):
    pass
"""
TORCH = """
import types
cuda = types.SimpleNamespace(
    is_available=lambda: False, current_device=lambda: 0,
    get_device_properties=lambda _: types.SimpleNamespace(
        gcnArchName="gfx942:sramecc+", multi_processor_count=4))
"""
# vLLM's builder, as far as its parameters go; SWAP exchanges the pages of two requests.
VLLM = """
import json, os, types
import numpy as np
import aiter
from aiter.mla import mla_decode_fwd
PLAN = json.loads(os.environ["PLAN"])


class Typed(np.ndarray):
    dtype = "torch.bfloat16"


class AiterMLAMetadataBuilder:
    kv_cache_spec = types.SimpleNamespace(block_size=2)

    def _build_decode(self, block_table_tensor, seq_lens_device, max_seq_len,
                      query_start_loc_cpu, query_start_loc_device):
        kv_indptr = np.concatenate([[0], np.cumsum(seq_lens_device)]).astype(np.int32)
        slots = [2 * block_table_tensor[r, t // 2] + t % 2
                 for r, keys in enumerate(seq_lens_device) for t in range(keys)]
        if os.environ.get("SWAP"):
            slots[0], slots[kv_indptr[1]] = slots[kv_indptr[1]], slots[0]
        self.slots, self.last = np.array(slots, np.int32), np.ones(len(seq_lens_device), np.int32)
        made = types.SimpleNamespace(paged_kv_indptr=kv_indptr, qo_indptr=query_start_loc_device)
        if os.environ.get("UNPLANNED"):
            return made
        plan = {name: np.zeros_like(np.array(value, np.int32)) for name, value in PLAN.items()}
        last = self.last
        aiter.get_mla_metadata_v1(query_start_loc_device, kv_indptr, last, 16, 1, True, np.zeros(
            2, np.uint64), *(plan[name] for name in aiter.NAMES), max_seqlen_qo=1, uni_seqlen_qo=1)
        words = np.array([plan["work_indptr"].ctypes.data, plan["work_info_set"].ctypes.data],
                         np.uint64)
        self.launch(made, work_meta_data=words, **plan)
        return made

    def launch(self, made, **plan):
        rows = len(made.qo_indptr) - 1
        typed = lambda *shape: np.zeros(shape, np.uint16).view(Typed)
        mla_decode_fwd(typed(rows, 16, 576), typed(64, 1, 1, 576), typed(rows, 16, 512),
                       made.qo_indptr, made.paged_kv_indptr, self.slots, self.last, 1, **plan)


class Moved:
    pass
"""
RUN = """
import numpy as np
from vllm.v1.attention.backends.mla.rocm_aiter_mla import AiterMLAMetadataBuilder
AiterMLAMetadataBuilder()._build_decode(
    np.array([[5, 9, 3, 0, 0], [7, 2, 0, 0, 0]], np.int32), np.array([6, 3], np.int32), 6, None,
    query_start_loc_device=np.array([0, 1, 2], np.int32))
"""


def write_engine(folder: pathlib.Path) -> None:
    backend = folder / "vllm" / "v1" / "attention" / "backends" / "mla" / "rocm_aiter_mla.py"
    for path, text in ((folder / "aiter" / "__init__.py", AITER),
                       (folder / "aiter" / "mla.py", KERNEL), (folder / "torch.py", TORCH),
                       (backend, VLLM), (folder / "sitecustomize.py", "print('hidden site')")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def run(folder: pathlib.Path, program: str = RUN, **variables: str) -> tuple[str, str]:
    """stdout and stderr of the engine, whose process knows nothing of this package."""
    write_engine(folder)
    buffers = mla.plan({"seqlens_qo_indptr": [0, 1, 2], "seqlens_kv_indptr": [0, 6, 9],
                        "num_cu": 4, "uni_seqlen_qo": 1}).buffers
    plan = {name: np.asarray(getattr(buffers, name)).tolist() for name in (
        "work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
        "reduce_partial_map")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PLAN": json.dumps(plan),
             "PYTHONPATH": f"{capture_plugin.site()}{os.pathsep}{folder}", **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def judged(folder: pathlib.Path) -> mla.Answer:
    return mla.check(mla.Bundle.load(folder / "steps" / "step-000000"))


def test_a_step_of_vllm_is_dumped_with_its_block_table_and_is_valid(tmp_path: pathlib.Path) -> None:
    out, err = run(tmp_path, MLA_TESTBED_CAPTURE=str(tmp_path / "steps"))
    assert "mla_capture: 1 planner calls seen, 1 dumped" in err
    assert out == "hidden site\n"  # the sitecustomize that ours hides
    bundle = mla.Bundle.load(tmp_path / "steps" / "step-000000")
    assert bundle.scalars["scheduler_block_size"] == 2
    # As many columns as the longest request needs.
    assert bundle.arrays["scheduler_block_table"].tolist() == [5, 9, 3, 7, 2, 0]
    assert bundle.arrays["scheduler_query_lens"].tolist() == [1, 1]
    assert judged(tmp_path).valid


def test_exchanged_pages_are_named_although_the_lists_agree(tmp_path: pathlib.Path) -> None:
    run(tmp_path, MLA_TESTBED_CAPTURE=str(tmp_path / "steps"), SWAP="1")
    answer = judged(tmp_path)
    assert [violation.rule for violation in answer.violations] == ["schedule", "schedule"]
    assert "page 0 of request 0 is 14 in kv_indices" in answer.violations[0].what
    assert answer.violations[0].what.endswith("has 10, and this one for request 1")
    assert answer.at_fault == "the builder"


def test_without_the_variable_nothing_is_imported_and_nothing_written(
        tmp_path: pathlib.Path) -> None:
    program = RUN + "import sys; print([n for n in sys.modules if 'mla_testbed' in n])"
    out, err = run(tmp_path, program)
    assert (out, err) == ("hidden site\n[]\n", "")
    assert not (tmp_path / "steps").exists()


def test_options_choose_steps_and_wrong_ones_are_named(tmp_path: pathlib.Path) -> None:
    variables = {"MLA_TESTBED_CAPTURE": str(tmp_path / "steps")}
    _, err = run(tmp_path, MLA_TESTBED_CAPTURE_OPTIONS="skip=1, steps=3", **variables)
    assert "1 planner calls seen, 0 dumped" in err
    _, err = run(tmp_path, MLA_TESTBED_CAPTURE_OPTIONS="skip=one", **variables)
    assert "nothing is captured: MLA_TESTBED_CAPTURE_OPTIONS has 'skip=one': expected" in err
    assert capture_plugin.options_of("tensors,steps=2") == {"tensors": True, "steps": 2}


def test_a_builder_that_moved_is_named_and_its_bundles_have_no_scheduler(
        tmp_path: pathlib.Path) -> None:
    program = RUN.replace("_build_decode(", "_build(")
    renamed = VLLM.replace("_build_decode(", "_build(")
    write_engine(tmp_path)
    backend = tmp_path / "vllm" / "v1" / "attention" / "backends" / "mla" / "rocm_aiter_mla.py"
    backend.write_text(renamed)
    body = f"import pathlib; pathlib.Path({str(backend)!r}).write_text({renamed!r})\n" + program
    _, err = run(tmp_path, body, MLA_TESTBED_CAPTURE=str(tmp_path / "steps"))
    assert "there is no AiterMLAMetadataBuilder._build_decode" in err
    bundle = mla.Bundle.load(tmp_path / "steps" / "step-000000")
    assert "scheduler_block_size" not in bundle.scalars
    assert judged(tmp_path).valid


#: Two steps are built before either is launched, as the draft's is before the target's layers.
UNPLANNED = """
import numpy as np
from vllm.v1.attention.backends.mla.rocm_aiter_mla import AiterMLAMetadataBuilder
starts = np.array([0, 1, 2], np.int32)
one, two = AiterMLAMetadataBuilder(), AiterMLAMetadataBuilder()
table = np.array([[5, 9, 3, 0, 0], [7, 2, 0, 0, 0]], np.int32)
first = one._build_decode(table, np.array([6, 3], np.int32), 6, None, starts)
other = two._build_decode(table[::-1], np.array([3, 4], np.int32), 4, None, starts)
one.launch(first)
two.launch(other)
other.paged_kv_indptr = other.paged_kv_indptr.copy()
other.paged_kv_indptr[1] += 1
two.launch(other)
"""


@pytest.mark.parametrize("swap", ["", "1"])
def test_launches_without_a_plan_are_held_against_the_step_whose_builder_made_their_list(
        tmp_path: pathlib.Path, swap: str) -> None:
    _, err = run(tmp_path, UNPLANNED, MLA_TESTBED_CAPTURE=str(tmp_path / "steps"), UNPLANNED="1",
                 SWAP=swap)
    assert "steps without a plan: 3 dumped" in err
    first, other, of_none = (mla.Bundle.load(tmp_path / "steps" / f"unplanned-{i:06d}")
                             for i in range(3))
    assert first.arrays["scheduler_seq_lens"].tolist() == [6, 3]
    assert first.arrays["scheduler_block_table"].tolist() == [5, 9, 3, 7, 2, 0]
    assert other.arrays["scheduler_seq_lens"].tolist() == [3, 4]
    assert other.arrays["scheduler_block_table"].tolist() == [7, 2, 5, 9]
    # A list that no builder made: nothing is said of it.
    assert "scheduler_seq_lens" not in of_none.arrays
    if not swap:  # the lists are right, and there is no plan to judge
        with pytest.raises(mla.UnsupportedError, match="there are no plan buffers"):
            mla.check(first)
        return
    answer = mla.check(first)
    assert [violation.rule for violation in answer.violations] == ["schedule", "schedule"]
    assert answer.at_fault == "the builder"


class Mode:
    def __init__(self, name: str) -> None:
        self._name = name

    def is_target_verify(self) -> bool:
        return self._name == "verify"

    def is_decode_or_idle(self) -> bool:
        return self._name == "decode"


@pytest.mark.parametrize(("mode", "keys", "rows"), [("decode", [4, 2], 1), ("verify", [7, 5], 3)])
def test_sglang_tells_tokens_and_counts_the_rows_of_a_verification(
        mode: str, keys: list[int], rows: int) -> None:
    backend = types.SimpleNamespace(req_to_token=np.arange(60).reshape(3, 20), num_draft_tokens=3)
    batch = types.SimpleNamespace(
        forward_mode=Mode(mode),
        spec_info=types.SimpleNamespace(draft_token_num=3) if mode == "verify" else None,
        seq_lens=np.array([4, 2]), req_pool_indices=np.array([2, 1]))
    scalars, told = mla_scheduler._sglang_step(backend, {"forward_batch": batch})
    replay = mla_scheduler._sglang_graph(backend, vars(batch))
    assert {key: value.tolist() for key, value in replay[1].items()} == {
        key: value.tolist() for key, value in told.items()}
    assert scalars == {"scheduler_block_size": 1}
    assert told["scheduler_seq_lens"].tolist() == keys
    assert told["scheduler_query_lens"].tolist() == [rows, rows]
    assert told["scheduler_block_table"][:, :2].tolist() == [[40, 41], [20, 21]]
    assert told["scheduler_block_table"].shape == (2, max(keys))


@pytest.mark.parametrize(("mode", "spec"), [("extend", None), ("decode", object())])
def test_sglang_tells_nothing_of_a_prefill_and_of_a_draft(mode: str, spec: object) -> None:
    batch = types.SimpleNamespace(forward_mode=Mode(mode), spec_info=spec, seq_lens=None,
                                  req_pool_indices=None)
    assert mla_scheduler._sglang_step(None, {"forward_batch": batch}) == ({}, {})
