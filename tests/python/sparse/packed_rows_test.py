"""Packed rows of the cache that is attended: byte places, stored numbers, what readers get."""

from __future__ import annotations

import numpy as np
import pytest
from mla_testbed.errors import UsageError
from mla_testbed.sparse import Case, attention, inputs_of, lists, model, rows, storing
from mla_testbed.sparse.numbers import of_bf16

DS = "sparse1:2q2s70;k=64;cache=ds"
V4 = "sparse1:2q2s70;k=64;cache=v4;width=448+64"
LINES = pytest.mark.parametrize("line", [
    DS, f"{DS};scale=f32", f"{DS};width=256+0;gap=16", V4, f"{V4};block=64;gap=32;fp8=ocp"])


@pytest.mark.parametrize(("line", "row", "block_bytes"), [
    (DS, 656, 16 * 656), (f"{DS};block=1", 656, 656), (f"{DS};width=256+0", 264, 16 * 264),
    (f"{V4};block=64", 576, 65 * 576), (f"{V4};block=256", 576, 260 * 576),
    (f"{V4};block=16;gap=48", 576, 17 * 576 + 48)])
def test_a_row_of_v32_has_656_bytes_and_a_block_of_v4_is_filled_up_to_rows_of_576(
        line, row, block_bytes):
    at = rows.Layout(Case.parse(line))
    assert (at.row, at.block_bytes) == (row, block_bytes)


@LINES
def test_each_part_of_each_slot_has_bytes_of_its_own(line):
    case = Case.parse(line)
    at = rows.places(case, np.arange(3 * case.block))
    used = np.concatenate([part.ravel() for part in (at.values, at.scales, at.rope, at.spare)])
    assert np.unique(used).size == used.size
    per_slot = 656 if case.cache == "ds" else 584
    if case.width[0] != 256:
        assert used.size == 3 * case.block * per_slot
    assert used.max() < 3 * rows.Layout(case).block_bytes - case.gap


@LINES
def test_a_read_row_is_the_token_within_half_a_step_of_fp8_and_a_rounding(line):
    inputs = inputs_of(Case.parse(line))
    right = of_bf16(inputs.latent[inputs.live]).astype(np.float64)
    found = rows.read(inputs.case, inputs.packed, inputs.live)
    latent = inputs.case.width[0]
    assert np.array_equal(found[:, latent:], right[:, latent:])
    away = np.abs(found - right)[:, :latent]
    largest = np.abs(rows.tiles_of(inputs.case, right)).max(axis=2)
    size = rows.Layout(inputs.case).tile
    # Half a step of three bits of fraction, half the least step of a tile's scale, and bf16.
    step = np.abs(right[:, :latent]) / 16 + (largest / 224 * 2 ** -9).repeat(size, axis=1)
    assert (away <= step + np.abs(right[:, :latent]) * 2.0 ** -8).all()


@LINES
def test_memory_that_nobody_wrote_is_not_a_number_for_each_part_of_a_reader(line):
    case = Case.parse(line)
    read = rows.read(case, rows.empty(case, 2 * case.block), np.arange(2 * case.block))
    assert np.isnan(read).all()


@LINES
def test_the_reference_of_attention_is_dense_attention_over_what_is_stored(line):
    inputs = inputs_of(Case.parse(line))
    slots, width = inputs.slots(0), inputs.case.value_width
    found = attention.attended(inputs, 0, slots)
    q = of_bf16(inputs.query[0]).astype(np.float64)
    keys = model.fetch(inputs, inputs.packed, slots).astype(np.float64)
    weights = np.exp(inputs.softmax_scale * q @ keys.T)
    dense = weights / weights.sum(axis=1, keepdims=True) @ keys[:, :width]
    assert found.out.shape == (16, width)
    assert np.allclose(found.out, dense, rtol=0, atol=1e-9)


def test_the_values_of_v4_are_whole_rows():
    inputs = inputs_of(Case.parse(V4))
    made = lists.Lists.of_rows([inputs.slots(0)] * 4)
    out = np.stack([attention.attended(inputs, row, made.row(row)).out for row in range(4)])
    assert attention.check_attention(inputs, made, out) == []
    out[:, :, 448:] = 0
    assert attention.check_attention(inputs, made, out)[0].property == "SP-17"


def test_rows_of_many_tokens_repeat_and_are_read_without_the_whole_cache():
    case = Case.parse("sparse1:1q1s40000;block=64;width=64+0")
    inputs, other = inputs_of(case), inputs_of(case)
    slots = inputs.slots(0)[::97]
    found = inputs.attended_rows(slots)
    assert "latent" not in vars(inputs)
    assert np.array_equal(found, of_bf16(other.latent[slots]).astype(np.float64))
    assert np.array_equal(inputs.keys_of(np.arange(9)), other.keys[:9])
    assert np.unique(found, axis=0).shape[0] > 0.6 * slots.size


@pytest.mark.parametrize(("line", "sentence"), [
    ("sparse1:1q1s5;cache=fp4", "case field 'cache' is 'fp4'; expected one of bf16, ds, v4"),
    ("sparse1:1q1s5;cache=ds;width=448+64", "128 elements have a scale, which do not divide a "
     "latent width of 448"),
])
def test_rows_that_do_not_exist_are_refused_with_the_value(line, sentence):
    with pytest.raises(UsageError, match=sentence):
        Case.parse(line)


def test_a_tile_of_zeros_may_have_no_scale_where_a_writer_has_no_floor():
    inputs = inputs_of(Case.parse(f"{DS};scale=f32;data=zero.1"))

    def store(_, slots, held):
        live = slots[slots >= 0]
        at = rows.places(inputs.case, live)
        held[at.values], held[at.scales] = 0xF7, 0
        held[at.rope] = rows.as_bytes(inputs.latent[live, 512:])

    assert storing.check_store(inputs, store, floor=0) == []
    wrong = storing.check_store(inputs, store)
    assert [one.property for one in wrong] == ["SP-03"]
