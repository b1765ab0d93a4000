"""Ranks that share a context: who holds a key, what a rank reads, and the bounds of its results."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mla_testbed.engines.ranks.shard import Shard
from mla_testbed.sparse import Case, inputs_of, ranks
from mla_testbed.sparse.attention import attended
from mla_testbed.sparse.draw import drawn
from mla_testbed.sparse.numbers import rounded_bf16
from mla_testbed.sparse.selection import NONE


def of(line):
    return inputs_of(Case.parse(line))


def every_key(inputs):
    """All keys that each row sees, in a random order; holes in between."""
    most = int(inputs.visible.max()) + 3
    made = np.full((inputs.case.rows, most), NONE, np.int32)
    for row, visible in enumerate(inputs.visible):
        order = np.random.default_rng(row).permutation(most)[:visible]
        made[row, order] = np.random.default_rng(row).permutation(visible)
    return made


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 20), st.sampled_from([2, 3, 8]), st.sampled_from([1, 4, 16]))
def test_each_position_has_one_rank_and_a_slot_of_its_own_there(seed, dcp, interleave):
    inputs = inputs_of(drawn(seed, 0, block=16, dcp=dcp, interleave=interleave, cache="bf16"))
    shard = Shard(dcp, interleave)
    for request, keys in enumerate(inputs.lengths):
        held = np.stack([ranks.slots_of(inputs, request, rank) for rank in range(dcp)])
        assert ((held != NONE).sum(axis=0) == 1).all()
        assert np.array_equal(np.argmax(held != NONE, axis=0), shard.owners(int(keys)))
    for rank in range(dcp):
        slots = np.concatenate([ranks.slots_of(inputs, request, rank)[inputs.case.shared:]
                                for request in range(len(inputs.lengths))])
        own = slots[slots != NONE]
        assert np.unique(own).size == own.size
        assert own.size == 0 or own.min() >= inputs.case.block, "block 0 belongs to no request"


@pytest.mark.parametrize("line", [
    "sparse1:2q2s200;dcp=3;width=64+64", "sparse1:3q1s150;dcp=2;interleave=8;shared=96;width=64+0",
    "sparse1:2q2s90;dcp=2;cache=ds;width=128+64;scale=f32;gap=16"])
def test_a_rank_reads_what_one_device_reads_of_the_same_keys(line):
    inputs = of(line)
    for rank in range(inputs.case.dcp):
        own = ranks.of_rank(inputs, rank)
        for request in range(len(inputs.lengths)):
            slots = ranks.slots_of(inputs, request, rank)
            assert np.array_equal(own.attended_rows(slots[slots != NONE]),
                                  inputs.attended_rows(inputs.slots(request)[slots != NONE]))
        others = np.setdiff1d(np.arange(len(own.latent)), own.live)
        assert (own.latent[others] == 0x7FA5).all(), "what no key of the rank has is NaN"


def test_exact_parts_merged_exactly_are_attention_over_all_keys():
    inputs = of("sparse1:2q2s200_1q1s2;dcp=4;interleave=4;width=64+64;holes=3")
    picked = every_key(inputs)
    for row in range(inputs.case.rows):
        parts = [attended(ranks.of_rank(inputs, rank), row,
                          ranks.exact(inputs, picked, rank).row(row)) for rank in range(4)]
        lse = np.stack([part.lse for part in parts])
        weights = np.exp(lse - lse.max(axis=0))
        weights /= weights.sum(axis=0)
        joined = sum(w[:, None] * part.out for w, part in zip(weights, parts, strict=True))
        keys = picked[row][picked[row] != NONE]
        whole = attended(inputs, row, inputs.slots(int(inputs.owners[row]))[keys])
        assert np.abs(joined - whole.out).max() < 1e-12
        assert np.abs(np.logaddexp.reduce(lse, axis=0) - whole.lse).max() < 1e-12


def in_float32(own, row, slots, order, rounded):
    """Output and lse of a row with running sums in float32, keys in this order."""
    q = (own.query[row].astype(np.uint32) << 16).view(np.float32)
    k = own.attended_rows(slots)[order].astype(np.float32)
    top = np.full(len(q), -np.inf, np.float32)
    total = np.zeros(len(q), np.float32)
    out = np.zeros((len(q), own.case.value_width), np.float32)
    for key in k:
        dots = np.array([np.add.accumulate(one * key)[-1] for one in q])
        s = (np.float32(own.softmax_scale) * dots).astype(np.float32)
        new = np.maximum(top, s)
        old, w = np.exp(top - new), np.exp(s - new)
        w = rounded_bf16(w) if rounded else w
        total, out = total * old + w, out * old[:, None] + w[:, None] * key[:own.case.value_width]
        top = new
    return rounded_bf16(out / total[:, None]), np.log(total) + top


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_part_in_float32_with_its_lse_is_within_the_bounds(seed, rounded):
    inputs = of(f"sparse1:1q1s400;dcp=2;width=64+64;qheads=4;data=gauss.{seed}")
    own, made = ranks.of_rank(inputs, 1), ranks.exact(inputs, every_key(inputs), 1)
    slots = made.row(0)
    order = np.argsort(own.attended_rows(slots)[:, 0]) if seed else np.arange(slots.size)
    out, lse = in_float32(own, 0, slots, order, rounded)
    assert ranks.check_part(own, made, out[None], lse[None]) == []
    limit = attended(own, 0, slots).lse_bound
    assert limit.max() < 0.05
    found = ranks.check_part(own, made, out[None], (lse + 2 * limit)[None])
    assert [one.property for one in found] == ["SP-25"]


def test_a_merge_is_judged_by_the_parts_that_it_was_handed():
    inputs = of("sparse1:2q1s90_1q1s1;dcp=2;width=64+0;pad=1;qheads=4")
    picked = every_key(inputs)
    parts = [ranks.exact_part(inputs, picked, rank) for rank in range(2)]
    out, lse = np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts])
    out[np.isneginf(lse)] = np.nan
    w = np.exp(lse - lse.max(axis=0).clip(-1e30))
    total = w.sum(axis=0)
    w = np.divide(w, total, out=np.zeros_like(w), where=total > 0)
    made = rounded_bf16(np.where(w[..., None] > 0, w[..., None] * out, 0).sum(axis=0))
    assert ranks.check_joined(inputs, picked, out, lse, made) == []
    for row, change in ((0, 1.02), (2, 1.02), (3, np.nan)):
        wrong = made.copy()
        wrong[row] = wrong[row] * change
        found = ranks.check_joined(inputs, picked, out, lse, wrong)
        assert [one.property for one in found] == ["SP-26"], row
        assert f"row {row} " in found[0].what


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda row: row[:-1], "slots of the .* selected keys of the rank, without slot"),
    (lambda row: np.append(row, row[0]), "slots of the .* selected keys of the rank$"),
    (lambda row: np.append(row[:-1], -1), "reads slot -1 of its cache; wrong are 1"),
    (lambda row: np.append(row[:-1], 0), "reads slot 0 of its cache, which is none of its")])
def test_a_wrong_list_of_a_rank_is_named(change, sentence):
    inputs = of("sparse1:2q1s90;dcp=2;pad=1")
    picked = every_key(inputs)
    right = ranks.exact(inputs, picked, 1)
    made = [change(right.row(0)), right.row(1), right.row(2)]
    found = ranks.check_dealt(inputs, picked, 1, type(right).of_rows(made))
    assert [one.property for one in found] == ["SP-24"]
    assert re.search("rank 1 row 0 .request 0. .*" + sentence, found[0].what), found[0].what
    padded = type(right).of_rows([right.row(0), right.row(1), np.array([20])])
    found = ranks.check_dealt(inputs, picked, 1, padded)
    assert "rank 1 row 2 (padding) reads slot 20" in found[0].what
