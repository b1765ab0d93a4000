"""What goes between the command line and the process of a tree, and what is made of stage 1."""

import io
import os
import pathlib

import numpy as np
import pytest

pytest.importorskip("torch", reason="the process of a tree needs torch, which is not installed")

import torch  # noqa: E402
from mla_testbed import world  # noqa: E402
from mla_testbed.aiter.tree import __main__ as process  # noqa: E402
from mla_testbed.aiter.tree import planner, stages, wire  # noqa: E402


def test_a_message_comes_back_as_it_was_sent():
    sent = wire.Message({"call": "plan", "n": 3}, {
        "words": np.arange(6, dtype=np.int32).reshape(2, 3), "none": np.zeros(0, np.uint8)})
    stream = io.BytesIO()
    wire.write(stream, sent)
    stream.seek(0)
    read = wire.read(stream)
    assert read is not None
    assert read.head == sent.head
    assert {n: a.tolist() for n, a in read.arrays.items()} == \
        {n: a.tolist() for n, a in sent.arrays.items()}
    assert wire.read(stream) is None


def test_a_stream_that_ends_inside_of_an_array_is_an_error_with_its_name():
    stream = io.BytesIO(b'{"arrays": [["q", "int32", [2]]]}\n123')
    with pytest.raises(EOFError, match="array 'q' has 3 of 8 bytes"):
        wire.read(stream)


def test_a_parameter_that_a_tree_lacks_is_left_out_where_it_is_as_usual_and_refused_otherwise():
    def query(batch_size, fast_mode=True):
        return batch_size, fast_mode

    asked = {"batch_size": 2, "fast_mode": False, "cap": -1}
    assert planner.known(query, asked, {"cap": -1}) == {"batch_size": 2, "fast_mode": False}
    with pytest.raises(planner.Unasked, match="query of this AITER has no parameter 'cap'"):
        planner.known(query, {**asked, "cap": 4}, {"cap": -1})


def found(partial_lse, rows):
    heads = partial_lse.shape[1]
    return stages.Stages(np.zeros((len(partial_lse), heads, 512), np.float32), partial_lse,
                         np.zeros((rows, heads, 512), np.uint16),
                         np.full((rows, heads), np.nan, np.float32))


def test_the_lse_of_a_merged_row_is_that_of_its_pieces_and_of_a_whole_row_its_own():
    pieces = np.log(np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32))
    of = found(pieces, 3)
    of.lse[2] = [0.5, 0.25]
    lists = {"reduce_indptr": np.array([0, 2, 2]), "reduce_partial_map": np.array([0, 2]),
             "reduce_final_map": np.array([[0, 2], [9, 9]])}
    merged = stages.merged_lse(of, lists)
    assert np.allclose(np.exp(merged[:2]), [[6, 8], [10, 12]])
    assert merged[2].tolist() == [0.5, 0.25]


def test_a_piece_without_a_key_has_no_weight_and_only_such_pieces_give_minus_infinity():
    minus = -np.inf
    assert stages.merge(np.array([[minus, minus], [0.5, minus]])).tolist() == [0.5, minus]


def test_splits_that_nobody_wrote_are_no_pieces():
    nan = np.nan
    pieces = np.log(np.array([[1, 2], [nan, nan], [3, 4], [4, 4]], np.float32))
    assert np.allclose(np.exp(stages.lse_of_splits(found(pieces, 2), 2)), [[1, 2], [7, 8]])


def test_folded_rows_come_back_to_the_heads_that_they_were_taken_from():
    rows, heads, width, longest = 4, 32, 16, 2
    lse = np.arange(rows * heads, dtype=np.float32).reshape(rows, heads)
    groups = lse.reshape(rows // longest, longest, heads // width, width)
    folded = groups.transpose(0, 2, 1, 3).reshape(-1, width)
    assert (stages.unfolded(folded, rows, heads, longest) == lse).all()
    assert (stages.unfolded(lse.reshape(-1, width), rows, heads, 1) == lse).all()
    assert stages.unfolded(lse, rows, heads, longest) is lse


@pytest.mark.parametrize(("file", "counts"), [
    ("aiter/mla.py", True), ("csrc/include/one.h", True), ("csrc/kernels/mla/reduce.cu", True),
    ("csrc/pybind/ps_metadata_pybind.cu", True), ("aiter/jit/optCompilerConfig.json", True),
    ("hsa/gfx942/mla/one.co", True), ("hsa/gfx950/mla/one.co", False), ("docs/page.txt", False)])
def test_the_sum_of_a_tree_is_over_what_a_step_depends_on(tmp_path, file, counts):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("one")
    before = process.sum_of(tmp_path, "gfx942")
    path.write_text("two")
    assert (process.sum_of(tmp_path, "gfx942") != before) == counts


def test_a_changed_source_that_fills_the_cache_is_told_since_no_step_runs_it(tmp_path):
    kernels = tmp_path / "csrc" / "kernels"
    kernels.mkdir(parents=True)
    assert process.not_run(tmp_path) == []  # a tree without it changes nothing there
    (kernels / "cache_kernels.cu").write_text("changed")
    assert process.not_run(tmp_path) == ["csrc/kernels/cache_kernels.cu"]


@pytest.mark.skipif("AITER_SRC" not in os.environ, reason="AITER_SRC names no source tree")
def test_of_the_aiter_that_is_followed_nothing_is_told():
    assert process.not_run(pathlib.Path(os.environ["AITER_SRC"])) == []


def test_a_verdict_names_the_first_of_several_faults_and_counts_the_others():
    assert process._first("lds-race: one\nlds-race: two\nthree") == "lds-race: one (2 more)"
    assert process._first("alone") == "alone"


def test_the_lse_of_a_single_split_is_that_of_two_and_its_output_stays():
    with world.entered(world.machine("gfx942")):
        out = torch.full((2, 16, 512), 3, dtype=torch.bfloat16, device="cuda")
        stage = stages.Stage1()
        stage._names = stages._STAGES["mla_decode_stage1_asm_fwd"]
        stage.arguments = {
            "Q": torch.zeros((2, 16, 576), device="cuda"), "output": out, "lse": None,
            "splitData": out.view(2, 1, 16, 512), "splitLse": torch.zeros((2, 1, 16, 1)),
            "qo_indptr": torch.tensor([0, 1, 2], dtype=torch.int32, device="cuda")}

        def again(**named):
            assert named["splitData"].shape == (2, 2, 16, 512)
            assert named["num_kv_splits_indptr"].cpu().tolist() == [0, 2, 4]
            named["output"].fill_(9)
            named["splitLse"][0, 0] = 1.0  # row 0 has keys for one split only
            named["splitLse"][1] = 2.0

        stage._called = again
        stage.found = stages.Stages(np.zeros((2, 16, 512), np.float32), np.full((2, 16), np.nan),
                                    np.zeros((2, 16, 512), np.uint16), np.zeros((2, 16)))
        assert not stage.has_partial_results
        stages.read_single_split(stage)
        assert (out == 3).all()
    np.testing.assert_allclose(stage.found.lse, [[1.0] * 16, [2.0 + np.log(2)] * 16], rtol=1e-6)
