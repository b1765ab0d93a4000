"""References of the sparse chain against what is known of them, and attempts to break bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mla_testbed.sparse import Case, attention, cache, inputs_of, lists, logits, selection
from mla_testbed.sparse.numbers import FNUZ, OCP, UBF16, of_bf16, to_bf16

ENCODINGS = pytest.mark.parametrize("encoding", [FNUZ, OCP], ids=lambda one: one.name)


@ENCODINGS
def test_each_finite_code_is_encoded_as_itself(encoding):
    codes = np.array([c for c in range(256) if c not in encoding.nan], np.uint8)
    assert np.array_equal(encoding.encode(encoding.decode(codes)), codes)
    assert np.isnan(encoding.values[list(encoding.nan)]).all()
    assert np.nanmax(encoding.values) == encoding.most


@ENCODINGS
@given(st.floats(-600, 600))
def test_no_code_is_nearer_than_the_encoded_one(encoding, value):
    coded = encoding.decode(encoding.encode(np.array([value])))[0]
    nearest = np.nanmin(np.abs(encoding.values - value))
    assert abs(coded - value) == nearest


@ENCODINGS
def test_ties_go_to_the_even_code(encoding):
    ladder = encoding.decode(np.arange(1, 127, dtype=np.uint8))
    middle = (ladder[1:] + ladder[:-1]) / 2
    assert (encoding.encode(middle) % 2 == 0).all()


@given(st.floats(allow_nan=False, allow_infinity=False, width=32, max_value=2.0 ** 127,
                 min_value=-2.0 ** 127))
def test_rounding_to_bf16_is_within_its_unit(value):
    rounded = of_bf16(to_bf16(np.array([value], np.float32)))[0]
    assert abs(float(rounded) - value) <= UBF16 * abs(value) + 2.0 ** -134


@pytest.mark.parametrize("block", [1, 16, 24, 48, 64, 80, 256])
@pytest.mark.parametrize("layout", ["row", "shuffle"])
@pytest.mark.parametrize("gap", [0, 48])
def test_a_layout_gives_each_element_of_a_block_a_byte_of_its_own(block, layout, gap):
    if layout == "shuffle" and block % 16:
        return
    case = Case.parse(f"sparse1:1q1s5;block={block};layout={layout};gap={gap}")
    at = cache.places(case, np.arange(3 * block))
    used = np.concatenate([at.values.ravel(), at.scales.ravel()])
    inner = used % case.block_bytes
    assert np.unique(used).size == used.size == 3 * block * 132
    assert inner.max() == block * 132 - 1, "no byte of the gap is used"


@settings(max_examples=200)
@given(st.floats(1e-30, 1e4), st.sampled_from([224.0, 240.0, 448.0]))
def test_the_smallest_power_of_two_not_below_the_quotient_is_a_legal_scale(amax, divisor):
    keys = np.zeros((1, 128), np.float32)
    keys[0, 5] = -amax
    least, most = cache.scale_limits(keys, divisor, "ue8m0")
    exact = max(float(np.float32(amax)), cache.FLOOR) / divisor
    smallest = 2.0 ** np.ceil(np.log2(exact))
    assert least[0] <= smallest <= most[0]
    assert not least[0] <= smallest / 2 <= most[0] or smallest / 2 > exact * (1 - 1e-5)
    assert not least[0] <= smallest * 4 <= most[0]


def _float32_logit(q, k, w, ks, order, scale_last):
    """With sums one at a time in an order, as no kernel does it worse."""
    total = np.float32(0)
    for head in range(q.shape[0]):
        dot = np.float32(0)
        for d in order:
            dot = np.float32(dot + np.float32(q[head, d] * k[d]))
        dot = max(np.float32(0), dot if scale_last else np.float32(dot * ks))
        total = np.float32(total + np.float32(w[head] * dot))
    return np.float32(total * ks) if scale_last else total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 16), st.sampled_from(["ue8m0", "f32"]), st.booleans(),
       st.sampled_from(["random", "sorted"]))
def test_a_logit_in_float32_in_any_order_is_within_its_bound(seed, scale, last, order):
    case = Case.parse(f"sparse1:1q1s3;heads=16;scale={scale};data=wide.{seed}")
    inputs = inputs_of(case)
    codes, scales = cache.stored(inputs, cache.written(inputs), inputs.slots(0))
    row = logits.row_of(inputs, codes, scales, 0)
    q, k = inputs.encoding.decode(inputs.q[0]), inputs.encoding.decode(codes)
    draw = np.random.default_rng(seed)
    for key in range(3):
        ways = (draw.permutation(128) if order == "random"
                else np.argsort(-np.abs(q[0] * k[key])))
        found = _float32_logit(q.astype(np.float32), k[key].astype(np.float32),
                               inputs.weights[0], scales[key], ways, last)
        assert abs(float(found) - row.values[key]) <= row.bound[key]
        assert row.bound[key] < 2e-3 * (np.abs(inputs.weights[0]) @ np.abs(q) @ np.abs(k[key])
                                        ) * scales[key] + 1e-30, "the bound says something"


@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(1, 12))
def test_a_set_of_columns_is_legal_exactly_if_a_stable_sort_with_some_order_gives_it(values, k):
    column = np.array(values, np.float64)
    right = selection.legal(column, k)
    assert right.count == min(k, column.size)
    for ties in (1, -1):
        order = np.lexsort((ties * np.arange(column.size), -column))[:right.count]
        picked = np.zeros(column.size, bool)
        picked[order] = True
        assert right.may[picked].all()
        assert picked[right.must].all()
    assert right.must.sum() <= right.count <= right.may.sum()


def _inputs(rows=2, keys=200, more=""):
    return inputs_of(Case.parse(f"sparse1:1q{rows}s{keys};k=64;block=16;pad=1{more}"))


def _lists(inputs, seed=0):
    draw = np.random.default_rng(seed)
    rows = [draw.choice(inputs.slots(0), 64, replace=False) for _ in range(inputs.case.rows)]
    return lists.Lists.of_rows([*rows, np.zeros(0, int)])


def _worst_attention(inputs, slots, tile):
    """float32 sums one at a time, weights rounded to bf16, a rescale at each tile."""
    q, k = of_bf16(inputs.query[0]), of_bf16(inputs.latent[slots])
    scale, latent = np.float32(inputs.softmax_scale), inputs.case.width[0]
    top = np.full(len(q), -np.inf, np.float32)
    total = np.zeros(len(q), np.float32)
    out = np.zeros((len(q), latent), np.float32)
    for begin in range(0, len(slots), tile):
        keys = k[begin:begin + tile]
        scores = np.zeros((len(q), len(keys)), np.float32)
        for d in range(keys.shape[1]):
            scores += q[:, d:d + 1] * keys[:, d]
        scores *= scale
        new = np.maximum(top, scores.max(axis=1))
        old = np.exp(top - new)
        weights = np.exp(scores - new[:, None])
        total = total * old + weights.sum(axis=1)
        out = out * old[:, None] + of_bf16(to_bf16(weights)) @ keys[:, :latent]
        top = new
    return of_bf16(to_bf16(out / total[:, None]))


@pytest.mark.parametrize("tile", [1, 7, 64])
@pytest.mark.parametrize("seed", range(4))
def test_attention_in_float32_with_weights_in_bf16_is_within_its_bound(tile, seed):
    inputs = _inputs(more=f";data=gauss.{seed}")
    slots = _lists(inputs, seed).row(0)
    right = attention.attended(inputs, 0, slots)
    away = np.abs(_worst_attention(inputs, slots, tile) - right.out)
    assert (away <= right.bound).all()
    assert away.max() > 0.02 * right.bound.max(), "the bound is not far from what happens"


def test_the_order_of_a_list_does_not_matter_and_all_keys_are_dense_attention():
    inputs = _inputs()
    slots = inputs.slots(0)
    there, back = (attention.attended(inputs, 1, way) for way in (slots, slots[::-1]))
    assert np.allclose(there.out, back.out, rtol=0, atol=1e-12)
    q, k = (of_bf16(bits).astype(np.float64) for bits in (inputs.query[1], inputs.latent[slots]))
    weights = np.exp(inputs.softmax_scale * q @ k.T)
    dense = weights / weights.sum(axis=1, keepdims=True) @ k[:, :512]
    assert np.allclose(there.out, dense, rtol=0, atol=1e-12)


def test_a_sink_changes_the_denominator_and_nothing_else():
    inputs = _inputs()
    slots = _lists(inputs).row(0)
    plain = attention.attended(inputs, 0, slots)
    none = attention.attended(inputs, 0, slots, sink=np.full(16, -np.inf))
    sink = np.linspace(-3, 5, 16)
    with_sink = attention.attended(inputs, 0, slots, sink=sink)
    assert np.array_equal(plain.out, none.out)
    share = np.exp(plain.lse - np.logaddexp(plain.lse, sink))
    assert np.allclose(with_sink.out, plain.out * share[:, None], rtol=1e-12, atol=0)


def test_a_row_without_keys_is_zero_or_nan_as_its_kernel_says():
    inputs = _inputs()
    made = _lists(inputs)
    out = np.stack([attention.attended(inputs, row, made.row(row)).out for row in range(2)]
                   + [np.zeros((16, 512))])
    assert attention.check_attention(inputs, made, out) == []
    wrong = attention.check_attention(inputs, made, out, empty="nan")
    assert [(one.property, one.what) for one in wrong] == [
        ("SP-18", "row 2 has no keys; its output is 0, not NaN")]
    out[2] = np.nan
    assert attention.check_attention(inputs, made, out, empty="nan") == []
    assert attention.check_attention(inputs, made, out)[0].property == "SP-18"


def test_recall_is_the_share_of_an_exact_selection():
    inputs = inputs_of(Case.parse("sparse1:1q1s200;k=50"))
    rows = logits.rows_of(inputs, cache.written(inputs))
    best = np.argsort(-rows[0].values)[:50].astype(np.int32)[None]
    assert selection.recall(inputs, rows, best) == 1
    best[0, :5] = np.argsort(rows[0].values)[:5]
    assert selection.recall(inputs, rows, best) == 0.9
