"""What is made of a prefill's kernel and reduce over a tree: the LSE of each row, and what is said
of a tree that lacks something."""

import sys
import types

import numpy as np
import pytest

pytest.importorskip("torch", reason="the process of a tree needs torch, which is not installed")

import torch  # noqa: E402
from mla_testbed import LibraryError, world  # noqa: E402
from mla_testbed.aiter.tree import prefill, stages  # noqa: E402

HEADS, ROWS = 2, 5


def work(partial, begin, end, head):
    return [0, partial, begin, end, 0, 8, 0, (head + 1) << 16 | head]


STALE = work(-1, 0, 4, 1)  # after the last work
# Rows 0 to 2, and row 4, are written whole; rows 2 to 4 are merged from two pieces.
LISTS = {
    "work_indptr": np.array([0, 6, 8], np.int32),
    "work_info_set": np.array([work(-1, 0, 2, 0), work(-1, 0, 2, 1), work(0, 2, 4, 0),
                               work(256, 2, 4, 0), work(0, 2, 4, 1), work(256, 2, 4, 1),
                               work(-1, 4, 5, 0), work(-1, 4, 5, 1), STALE], np.int32),
    "reduce_indptr": np.array([0, 2, 2], np.int32),
    "reduce_final_map": np.array([[2, 4], [0, 0]], np.int32),
    "reduce_partial_map": np.array([0, 256, 0], np.int32)}


@pytest.fixture
def watched():
    """A call that was watched: its kernel writes 10 * head + row as LSE, whichever work asks."""
    with world.entered(world.machine("gfx950", poison=True)):
        made = prefill.Watched()
        asked = []

        def kernel(**named):
            info = named["work_info_set"].cpu().numpy()
            asked.append(info)
            for _, partial, begin, end, *_, heads in info[:8]:
                assert partial >= 0  # what is whole is a partial work now
                head = heads & 0xFFFF
                for row in range(begin, end):
                    named["splitLse"][int(partial) + row - int(begin), int(head)] = \
                        10.0 * head + row
            named["output"].fill_(9)

        partial = torch.zeros((512, HEADS), device="cuda")
        partial[0:2], partial[256:258] = 1.0, 2.0
        made._real = {"mla_prefill_ps_asm_fwd": kernel}
        made._stage = {
            "splitLse": partial, "splitData": torch.zeros((512, HEADS, 128), device="cuda"),
            "work_info_set": None, "output": torch.zeros((ROWS, HEADS, 128), device="cuda")}
        made.asked = asked
        yield made


def test_whole_rows_have_the_kernels_lse_and_merged_rows_the_reduces(watched):
    watched._final = torch.full((ROWS, HEADS), torch.nan, device="cuda")
    watched._final[2:4] = 7.0
    found = watched.lse(LISTS, ROWS, HEADS)
    np.testing.assert_array_equal(found, [[0, 10], [1, 11], [7, 7], [7, 7], [4, 14]])
    # The works of a tile have a slab behind the plan's partial rows, which its heads share.
    assert watched.asked[0][:8, stages.PARTIAL].tolist() == \
        [512, 512, 0, 256, 0, 256, 768, 768]
    assert watched.asked[0][8].tolist() == STALE
    assert (watched._stage["output"] == 0).all()


def test_without_the_reduces_lse_merged_rows_have_that_of_their_pieces(watched):
    found = watched.lse(LISTS, ROWS, HEADS)
    np.testing.assert_allclose(found[2:4], np.log(np.exp(1) + np.exp(2)), rtol=1e-6)
    np.testing.assert_array_equal(found[:2], [[0, 10], [1, 11]])


def test_a_merged_row_that_the_reduce_does_not_write_stays_unwritten(watched):
    watched._final = torch.full((ROWS, HEADS), torch.nan, device="cuda")
    assert np.isnan(watched.lse(LISTS, ROWS, HEADS)[2:4]).all()


def test_a_kernel_that_is_not_called_has_no_lse():
    with pytest.raises(RuntimeError, match="mla_prefill_ps_fwd called no mla_prefill_ps_asm_fwd"):
        prefill.Watched().lse(LISTS, ROWS, HEADS)


def test_a_kernel_with_other_parameters_is_refused_by_the_name_that_it_lacks():
    watched = prefill.Watched()
    with pytest.raises(LibraryError, match="mla_prefill_ps_asm_fwd of this AITER has no parameter "
                                           "'splitLse'"):
        watched._stage_begins({"splitData": None, "work_info_set": None, "output": None})


def test_what_a_tree_lacks_is_named(monkeypatch):
    ops = types.ModuleType("aiter.ops")
    ops.attention = types.ModuleType("aiter.ops.attention")
    mla = types.ModuleType("aiter.mla")
    aiter = types.ModuleType("aiter")
    aiter.mla, aiter.ops = mla, ops
    for module in (aiter, mla, ops, ops.attention):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(LibraryError, match="has no 'get_ps_metadata_info_v1' in aiter.ops.att"):
        prefill.sizes({})
    with pytest.raises(LibraryError, match="has no 'get_ps_metadata_v1' in aiter.ops.attention"):
        prefill.plan({}, {})
    with pytest.raises(LibraryError, match="has no 'mla_prefill_ps_fwd' in aiter.mla"):
        prefill.prefill("gfx950", {}, {})
    with pytest.raises(LibraryError, match="has no 'mla_prefill_ps_asm_fwd'"), prefill.Watched():
        pass
