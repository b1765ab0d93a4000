"""The batches that SGLang's backend gets, without SGLang."""

import dataclasses
import importlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="a world is CPU-only torch: pip install torch")

from mla_testbed import UsageError, world  # noqa: E402
from mla_testbed.engines.sglang import batch, machine, server, versions  # noqa: E402
from mla_testbed.engines.sglang.adapter import SglangEngine, server_of  # noqa: E402
from mla_testbed.engines.sglang.batch import Mode  # noqa: E402
from mla_testbed.engines.sparse.step import sparse_steps_of  # noqa: E402
from mla_testbed.engines.step import steps_of  # noqa: E402


def step(text):
    return steps_of(text)[0]


@pytest.mark.parametrize(("case", "mode"), [
    ("mla1:3q1s40", Mode.DECODE),
    ("mla1:3q4s40;data=normal.42", Mode.VERIFY),
    ("mla1:3q4s40;data=normal.43", Mode.DRAFT_EXTEND),
    ("mla1:1q4s40_1q3s40", Mode.EXTEND),
    ("mla1:2q16s40;data=normal.2", Mode.VERIFY),
    ("mla1:2q17s40;data=normal.2", Mode.EXTEND),
])
def test_rows_of_a_batch_and_its_seed_choose_the_mode(case, mode):
    assert batch.mode_of(step(case)) is mode


@pytest.mark.parametrize(("seed", "mode"), [(3, Mode.VERIFY), (11, Mode.DRAFT_EXTEND),
                                            (19, Mode.VERIFY), (27, Mode.DRAFT_EXTEND)])
def test_rows_that_select_2048_keys_are_verified_and_extended_as_drafts(seed, mode):
    sparse = sparse_steps_of(f"mla1:3q4s40;data=normal.{seed}")[0]
    assert (sparse.topk, sparse.layers) == (2048, 1)
    assert batch.mode_of(sparse) is mode


@pytest.mark.parametrize(("case", "lens"), [
    ("mla1:1q1s40_1q1s9", [40, 9]),
    ("mla1:1q4s40_1q4s9;data=normal.2", [36, 5]),  # SGLang adds the rows itself
    ("mla1:1q4s40_1q4s9;data=normal.3", [40, 9]),
])
def test_sequence_lengths_are_counted_as_sglang_does_in_each_mode(case, lens):
    with world.entered(world.machine("gfx942")):
        made = batch.of_step(step(case), batch.mode_of(step(case)))
        assert made.seq_lens.cpu().tolist() == lens
        assert made.seq_lens_cpu.tolist() == lens
        assert made.seq_lens_sum == sum(lens)
        assert world.on_device(made.seq_lens)
        assert not world.on_device(made.seq_lens_cpu)


def test_padding_of_a_graph_uses_row_0_of_the_pool_and_has_the_keys_of_padding():
    with world.entered(world.machine("gfx942")):
        made = batch.of_step(step("mla1:2q1s40"), Mode.DECODE, pad=3, fill=7)
        assert made.pool_rows.cpu().tolist() == [1, 2, 0, 0, 0]
        assert made.seq_lens.cpu().tolist() == [40, 40, 7, 7, 7]
        assert made.rows == [1] * 5


def test_a_replay_writes_into_the_tensors_of_its_capture():
    with world.entered(world.machine("gfx942")):
        captured = batch.padding(Mode.DECODE, 4, 1, 1)
        assert captured.seq_lens_sum is None
        made = batch.refill(captured, step("mla1:2q1s40"), 1)
        assert made.seq_lens is captured.seq_lens
        assert captured.seq_lens.cpu().tolist() == [40, 40, 1, 1]
        assert captured.pool_rows.cpu().tolist() == [1, 2, 0, 0]
        assert made.seq_lens_sum == 82


def test_a_replay_of_more_requests_than_were_captured_fails():
    with world.entered(world.machine("gfx942")), pytest.raises(
            ValueError, match="2 requests for a graph of 1"):
        batch.refill(batch.padding(Mode.DECODE, 1, 1, 1), step("mla1:2q1s40"), 1)


def test_the_table_has_the_slots_of_each_request_and_the_slot_of_padding_elsewhere():
    given = step("mla1:1q1s20_1q1s3;block=16;layout=descending")
    with world.entered(world.machine("gfx942")):
        table = torch.full((4, 24), 99, dtype=torch.int32, device="cuda")
        batch.place(given, table)
        found = table.cpu().numpy()
    assert found[0].tolist() == [0] * 24
    assert found[1, :20].tolist() == given.token_slots(0).tolist()
    assert found[2, :3].tolist() == given.token_slots(1).tolist()
    assert not found[1, 20:].any()
    assert not found[3].any()


def test_a_server_is_as_large_as_the_largest_of_its_steps():
    made = server_of(steps_of("mla1:1q1s40_1q1s300+3q4s64;heads=32;block=64;dtype=fp8/fp8;"
                              "data=normal.41"))
    assert (made.heads, made.fp8_cache, made.page_size) == (32, True, 64)
    assert (made.draft_tokens, made.max_requests, made.context) == (4, 3, 300)


@pytest.mark.parametrize(("case", "enabled"), [
    ("mla1:1q1s40;data=normal.10", True), ("mla1:1q1s40;data=normal.42", False),
    ("mla1:1q1s40+1q1s41;data=normal.5", True),  # one server for both
    ("mla1:1q1s40+1q1s41;data=normal.4", False),
])
def test_one_of_five_seeds_is_a_server_with_dp_attention(case, enabled):
    assert server_of(steps_of(case)).dp_attention is enabled


@pytest.fixture
def sglang(tmp_path, monkeypatch):
    """A package of this name, with the modules that a test writes, in front of an installed one."""
    for name in [name for name in sys.modules if name.split(".")[0] == "sglang"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)

    def write(module, text):
        path = tmp_path / "sglang" / module
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.parents[:len(path.relative_to(tmp_path).parts) - 1]:
            (folder / "__init__.py").touch()
        path.write_text(text)
        importlib.invalidate_caches()

    yield write
    for name in [name for name in sys.modules if name.split(".")[0] == "sglang"]:
        del sys.modules[name]


@pytest.mark.parametrize("enabled", [True, False])
def test_dp_attention_is_a_flag_of_the_context_or_of_older_modules(sglang, enabled):
    sglang("srt/layers/dp_attention.py", "_ENABLE_DP_ATTENTION_FLAG = None\n")
    versions.dp_attention(enabled)
    module = importlib.import_module("sglang.srt.layers.dp_attention")
    assert module._ENABLE_DP_ATTENTION_FLAG is enabled
    sglang("srt/runtime_context.py", "import types\nFLAGS = types.SimpleNamespace("
           "dp=types.SimpleNamespace(enabled=None))\ndef get_flags():\n    return FLAGS\n")
    versions.dp_attention(enabled)
    assert importlib.import_module("sglang.srt.runtime_context").FLAGS.dp.enabled is enabled


def test_fresh_memory_is_poisoned_only_inside():
    with server.poisoned(-77):
        words = torch.empty(5, dtype=torch.int32)
        numbers = torch.empty(5)
    assert words.tolist() == [-77] * 5
    assert np.isnan(numbers.numpy()).all()
    before = torch.empty
    with pytest.raises(ValueError, match="x"), server.poisoned(1):
        raise ValueError("x")
    assert torch.empty is before


def test_a_compiled_kernel_that_is_called_is_named():
    with pytest.raises(machine.NoKernelError, match="sgl_kernel.fast_topk"):
        machine._Kernels("sgl_kernel").fast_topk(3, 4, k=5)


def test_rows_are_made_equal_up_to_the_longest_verification():
    engine = object.__new__(SglangEngine)
    line = batch_line("mla1:1q4s40_2q1s1;dtype=fp8/fp8;scale=0.5/0.25")
    made = engine.adapt(line)
    assert made.requests(0) == [(4, 40), (4, 4), (4, 4)]
    assert made["scale"] == "0.25/0.25"
    assert engine.adapt(batch_line("mla1:1q40s40_1q1s1")).requests(0) == [(40, 40), (1, 1)]


def batch_line(text):
    from mla_testbed.engines.line import CaseLine  # noqa: PLC0415

    return CaseLine.parse(text)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"dtype_q": "fp8"}, "an fp8 query only for an fp8 cache"),
    ({"dtype_q": "fp8", "dtype_kv": "fp8", "q_scale": 0.5}, "the scale of the cache"),
    ({"causal": False}, "is causal"),
])
def test_a_step_that_no_caller_of_sglang_makes_is_refused(change, sentence):
    engine = object.__new__(SglangEngine)
    assert sentence in engine.refuses(dataclasses.replace(step("mla1:1q1s4"), **change))


def test_a_case_without_rows_is_no_step():
    with pytest.raises(UsageError, match="no request with rows"):
        step("mla1:1q0s4")


def test_heads_and_blocks_become_such_as_sglang_and_the_planner_take():
    engine = object.__new__(SglangEngine)
    made = engine.adapt(batch_line("mla1:1q1s40;heads=97;block=80"))
    assert (made["heads"], made["block"]) == ("112", "128")
    made = engine.adapt(batch_line("mla1:1q1s40;heads=5;block=1"))
    assert (made["heads"], made["block"]) == ("5", "1")


@pytest.mark.parametrize(("seed", "arch", "keys"), [
    (2, "gfx950", 212), (3, "gfx950", 9), (2, "gfx942", 9),
])
def test_two_of_three_cases_of_gfx950_have_long_requests_only(seed, arch, keys):
    engine = object.__new__(SglangEngine)
    made = engine.adapt(batch_line(f"mla1:1q2s9_1q2s300;data=normal.{seed};arch={arch}"))
    assert made.requests(0) == [(2, keys), (2, 300)]
