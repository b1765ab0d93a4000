"""DeepSeek-V4's compressor and window: the reference against what is known, and its bound."""

from __future__ import annotations

import numpy as np
import pytest
from mla_testbed.errors import UsageError
from mla_testbed.sparse import MODEL, Case, compressor, inputs_of, judge, model_v4, rows, windows
from mla_testbed.sparse.numbers import OCP

FOUR = "sparse1:1q3s90_1q1s37;cache=v4;width=448+64;ratio=4"
MANY = "sparse1:1q2s257_1q1s130;cache=v4;width=448+64;ratio=128;data=wide.3"
LINES = pytest.mark.parametrize("line", [FOUR, f"{FOUR};data=equal.2", f"{FOUR};data=zero.2", MANY])


def _source(line):
    return compressor.source_of(inputs_of(Case.parse(line)))


def _last(source, request, group):
    """States of the tokens of a group and of the one before."""
    end = (group + 1) * source.ratio
    begin = max(0, end - source.halves * source.ratio)
    return {at: model_v4.state_of(source, request, at) for at in range(begin, end)}, end - 1


def test_equal_scores_give_the_mean_of_the_older_first_and_the_newer_second_halves():
    source = _source(f"{FOUR};data=equal.1")
    kv, width = source.kv[0].astype(np.float64), 512
    mean = np.concatenate([kv[4:8, :width], kv[8:12, width:]]).mean(axis=0)
    normed = mean / np.sqrt((mean ** 2).mean() + 1e-6) * source.weight
    found = compressor.compressed(source, 0, 2)
    assert np.allclose(found.value[:448], normed[:448], rtol=1e-12, atol=0)
    # The group begins at position 8; the first pair turns by as many radians.
    even, odd = normed[448:450]
    assert np.allclose(found.value[448:450], [even * np.cos(8) - odd * np.sin(8),
                                              odd * np.cos(8) + even * np.sin(8)], atol=1e-6)


def test_the_first_group_has_only_its_own_tokens():
    source = _source(f"{FOUR};data=equal.1")
    mean = source.kv[0][:4, 512:].astype(np.float64).mean(axis=0)
    normed = mean / np.sqrt((mean ** 2).mean() + 1e-6) * source.weight
    found = compressor.compressed(source, 0, 0).value[:448]
    assert np.allclose(found, normed[:448], rtol=1e-12, atol=0)


@LINES
def test_a_key_of_float32_sums_in_any_order_is_within_its_bound(line):
    source = _source(line)
    draw, worst = np.random.default_rng(1), 0.0
    for group in range(2):
        states, last = _last(source, 0, group)
        right = compressor.compressed(source, 0, group)
        for _ in range(4):
            order = draw.permutation(sorted(states))
            score = np.stack([states[at][1] for at in order])
            value = np.stack([states[at][0] for at in order])
            if source.halves > 1:
                half = (order > last - source.ratio).astype(int)[:, None] * 512 + np.arange(512)
                score, value = (np.take_along_axis(one, half, 1) for one in (score, value))
            weights = np.exp(score - score.max(axis=0))
            total, out = np.zeros(512, np.float32), np.zeros(512, np.float32)
            for weight, one in zip(weights, value, strict=True):
                total, out = total + weight, out + weight * one
            out = out / total
            normed = out / np.sqrt((out ** 2).mean(dtype=np.float32) + np.float32(1e-6))
            normed = (normed * source.weight)[:448].astype(np.float64)
            away = np.abs(normed - right.value[:448])
            assert (away <= right.bound[:448]).all()
            worst = max(worst, float((away / (right.bound[:448] + 1e-300)).max()))
    assert worst > 0.01 or "zero" in line, "the bound is not far from what happens"


@LINES
def test_the_model_stores_the_same_keys_in_one_step_and_in_two(line):
    assert compressor.check_compress(_source(line), model_v4.compress) == []


def test_a_key_is_stored_in_ocp_whatever_the_case_has():
    source = _source(f"{FOUR};fp8=fnuz")
    held = np.zeros(source.inputs.packed.size, np.uint8)
    model_v4.compress(source, source.steps(), held)
    at = rows.places(source.inputs.case, source.slots(0)[:1])
    value = compressor.compressed(source, 0, 0).value[:448]
    read = OCP.decode(held[at.values[0]]) * np.exp2(held[at.scales[0]] - 127.0).repeat(64)
    assert np.allclose(read, value, atol=0.07 * np.abs(value).max())


@pytest.mark.parametrize(("visible", "window", "ratio", "first", "count"), [
    (1, 16, 4, 0, 0), (4, 16, 4, 0, 1), (16, 16, 4, 0, 4), (17, 16, 4, 1, 4),
    (127, 16, 128, 111, 0), (128, 16, 128, 112, 1)])
def test_a_row_sees_the_last_tokens_and_the_groups_that_are_whole(
        visible, window, ratio, first, count):
    inputs = inputs_of(Case.parse(
        f"sparse1:1q1s{visible};cache=v4;width=448+64;ratio={ratio};window={window}"))
    assert windows.window_of(inputs, 0).tolist() == list(range(first, visible))
    assert windows.compressed_of(inputs, 0) == count


def test_a_layer_of_another_group_has_other_blocks():
    inputs = inputs_of(Case.parse("sparse1:2q1s100"))
    layer = windows.of_layer(inputs, 1)
    assert not np.array_equal(layer.tables, inputs.tables)
    assert np.unique(np.concatenate([layer.slots(0), layer.slots(1)])).size == 200
    assert judge(inputs.case, MODEL) == []


@pytest.mark.parametrize(("line", "sentence"), [
    ("sparse1:1q1s5;ratio=4", "compressed keys lie in rows of 'cache=v4'"),
    ("sparse1:1q1s5;ratio=3", "case field 'ratio' is 3; expected one of 1, 4, 128"),
    ("sparse1:1q1s5;window=20000", "case field 'window' is 20000"),
])
def test_a_case_without_such_keys_is_refused_with_the_value(line, sentence):
    with pytest.raises(UsageError, match=sentence):
        Case.parse(line)
