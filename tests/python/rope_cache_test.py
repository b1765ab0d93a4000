"""Rotary embedding with the cache write, and casts to fp8, against numpy."""

from __future__ import annotations

from typing import Any

import attention as att
import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels

ENCODING = {"gfx942": "e4m3fnuz", "gfx950": "e4m3fn"}
TOKENS, HEADS, POSITIONS = 4, 3, 50


def rotated(x: np.ndarray, angle: np.ndarray, neox: bool) -> np.ndarray:
    """Pairs as complex numbers, turned by the angle of each."""
    half = x.shape[-1] // 2
    pairs = (x[..., :half], x[..., half:]) if neox else (x[..., ::2], x[..., 1::2])
    turned = (pairs[0] + 1j * pairs[1]) * np.exp(1j * angle)
    out = np.empty_like(x)
    if neox:
        out[..., :half], out[..., half:] = turned.real, turned.imag
    else:
        out[..., ::2], out[..., 1::2] = turned.real, turned.imag
    return out


class Tokens:
    """New tokens in bf16, their tables and what they become."""

    def __init__(self, seed: int = 1, heads: int = HEADS) -> None:
        rng = np.random.default_rng(seed)

        def words(*shape: int) -> np.ndarray:
            return att.bf16(rng.normal(size=shape))

        self.q_nope, self.q_pe = words(TOKENS, heads, 512), words(TOKENS, heads, 64)
        self.kv_c, self.k_pe = words(TOKENS, 512), words(TOKENS, 64)
        self.angle = rng.uniform(0, 6, size=(POSITIONS, 32))
        self.cos, self.sin = att.bf16(np.cos(self.angle)), att.bf16(np.sin(self.angle))
        self.slots = np.array([17, -1, 3, 31])
        self.positions = np.array([3, 49, 0, 20])
        self.q_out = np.full((TOKENS, heads, 576), 0x1111, np.uint16)
        self.cache = np.full((4, 8, 576), 0x2222, np.uint16)

    def write(self, neox: bool = True, nope_first: bool = True, **changes: Any) -> None:
        arch = changes.pop("arch", "gfx942")
        options = {name: changes.pop(name) for name in ("segmented", "compute_all_q_rope")
                   if name in changes}
        a = {**vars(self), "k_scale": None, "q_scale": None, **changes}
        kernels.rope_and_cache(
            a["q_nope"], a["q_pe"], a["kv_c"], a["k_pe"], a["cache"], a["q_out"], a["slots"],
            a["k_scale"], a["q_scale"], a["positions"], a["cos"], a["sin"], neox, nope_first,
            arch=arch, **options)

    def query(self, token: int, neox: bool = True) -> np.ndarray:
        angle = self.angle[self.positions[token]]
        return np.concatenate([att.from_bf16(self.q_nope[token]),
                               rotated(att.from_bf16(self.q_pe[token]), angle, neox)], -1)

    def key(self, token: int, neox: bool = True) -> np.ndarray:
        angle = self.angle[self.positions[token]]
        return np.concatenate([att.from_bf16(self.kv_c[token]),
                               rotated(att.from_bf16(self.k_pe[token]), angle, neox)])


@pytest.mark.parametrize("neox", [True, False])
def test_queries_and_keys_are_rotated_by_their_positions_and_padding_is_left_alone(
        neox: bool) -> None:
    tokens = Tokens()
    tokens.write(neox)
    cache = att.from_bf16(tokens.cache.reshape(32, 576))
    for token, slot in enumerate(tokens.slots):
        if slot < 0:
            assert (tokens.q_out[token] == 0x1111).all()
            continue
        np.testing.assert_allclose(att.from_bf16(tokens.q_out[token]), tokens.query(token, neox),
                                   atol=3e-2)
        np.testing.assert_allclose(cache[slot], tokens.key(token, neox), atol=3e-2)
        np.testing.assert_array_equal(tokens.cache.reshape(32, 576)[slot, :512],
                                      tokens.kv_c[token])
    untouched = np.delete(tokens.cache.reshape(32, 576), tokens.slots[tokens.slots >= 0], 0)
    assert (untouched == 0x2222).all()


def test_the_rope_part_may_come_first() -> None:
    one, other = Tokens(), Tokens()
    one.write()
    other.write(nope_first=False)
    np.testing.assert_array_equal(other.q_out[0], np.roll(one.q_out[0], 64, -1))
    np.testing.assert_array_equal(other.cache[2, 1], np.roll(one.cache[2, 1], 64, -1))


def test_queries_of_padding_are_written_on_request_at_a_position_inside_the_table() -> None:
    tokens = Tokens()
    tokens.positions[1] = 10**9
    tokens.write(compute_all_q_rope=True)
    tokens.positions[1] = POSITIONS - 1
    np.testing.assert_allclose(att.from_bf16(tokens.q_out[1]), tokens.query(1), atol=3e-2)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_fp8_is_divided_by_the_scale_and_rounded_once(arch: str) -> None:
    tokens = Tokens()
    q_out = np.zeros((TOKENS, HEADS, 576), np.uint8)
    cache = np.zeros((4, 8, 576), np.uint8)
    scales = {"q_scale": np.array([0.25], np.float32), "k_scale": np.array([2], np.float32)}
    tokens.write(arch=arch, cache=cache, q_out=q_out, **scales)
    table = att.fp8_table(ENCODING[arch])
    top = np.nanmax(table)
    np.testing.assert_allclose(table[q_out[0]], np.clip(tokens.query(0) / 0.25, -top, top),
                               rtol=0.07, atol=2e-2)
    np.testing.assert_allclose(table[cache[2, 1]], tokens.key(0) / 2, rtol=0.07, atol=2e-2)
    latent = att.from_bf16(tokens.kv_c[0]) / 2
    nearest = np.abs(table[att.to_fp8(latent, ENCODING[arch])] - latent)
    np.testing.assert_array_equal(np.abs(table[cache[2, 1, :512]] - latent), nearest)


def test_pages_of_the_segmented_form_hold_latent_parts_then_rope_parts() -> None:
    tokens, plain = Tokens(), Tokens()
    tokens.slots = plain.slots = np.array([70, -1, 3, 127])
    cache = np.zeros((2, 64 * 576), np.uint8)
    q_out = np.full((TOKENS, HEADS, 600), 0x55, np.uint8)
    one = np.ones(1, np.float32)
    tokens.write(cache=cache, q_out=q_out, q_scale=one, k_scale=one, segmented=True)
    flat, narrow = np.zeros((2, 64, 576), np.uint8), np.zeros((TOKENS, HEADS, 576), np.uint8)
    plain.write(cache=flat, q_out=narrow, q_scale=one, k_scale=one)
    latent = cache[:, :64 * 512].reshape(2, 64, 512)
    rope = cache[:, 64 * 512:].reshape(2, 64, 64)
    np.testing.assert_array_equal(np.concatenate([latent, rope], -1), flat)
    np.testing.assert_array_equal(q_out[[0, 2, 3], :, :576], narrow[[0, 2, 3]])
    assert (q_out[..., 576:] == 0x55).all()


def test_key_heads_have_rows_of_their_own() -> None:
    rng = np.random.default_rng(2)
    tokens = Tokens()
    kv_c, k_pe = (att.bf16(rng.normal(size=(TOKENS, 2, d))) for d in (512, 64))
    cache = np.zeros((4, 8, 2, 576), np.uint16)
    tokens.write(kv_c=kv_c, k_pe=k_pe, cache=cache)
    np.testing.assert_array_equal(cache[2, 1, :, :512], kv_c[0])
    assert (cache[2, 1, 0, 512:] != cache[2, 1, 1, 512:]).any()


def test_slots_and_positions_outside_their_tables_are_faults_and_the_rest_is_written() -> None:
    tokens = Tokens()
    tokens.slots[0], tokens.positions[2] = 32, POSITIONS
    with pytest.raises(mla.FaultError) as caught:
        tokens.write()
    assert caught.value.report.splitlines() == [
        "slot_mapping[0] is 32, which is not in [0, 32)",
        "positions[2] is 50, which is not in [0, 50)"]
    assert (tokens.q_out[[0, 1, 2]] == 0x1111).all()
    np.testing.assert_array_equal(tokens.cache[3, 7, :512], tokens.kv_c[3])


def written_at(positions: list[int], heads: int = 4, **changes: Any) -> tuple[Any, Any]:
    """Queries and cache of four tokens at these positions."""
    tokens = Tokens(heads=heads)
    tokens.positions = np.array(positions)
    cache = changes.pop("cache", tokens.cache)
    if changes.pop("one_key_head", False):
        changes |= {"kv_c": tokens.kv_c.reshape(TOKENS, 1, 512),
                    "k_pe": tokens.k_pe.reshape(TOKENS, 1, 64)}
    tokens.write(cache=cache, **changes)
    return tokens.q_out, cache


# Four heads of 512 are AITER's kernel for large steps; pages of one token that for each head.
@pytest.mark.parametrize(("heads", "pages"), [(4, (4, 8)), (1, (32, 1))])
@pytest.mark.parametrize("changes", [{}, {"one_key_head": True}])
def test_decode_kernels_that_clamp_take_the_nearest_position_of_the_table(
        heads: int, pages: tuple[int, int], changes: dict[str, Any]) -> None:
    found, wanted = (
        written_at(positions, heads, cache=np.zeros((*pages, 576), np.uint16), **changes)
        for positions in ([-1, 7, -2**40, POSITIONS + 3], [0, 7, 0, POSITIONS - 1]))
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])
    assert wanted[1].any()


@pytest.mark.parametrize("changes", [
    {"heads": 3},
    {"heads": 1, "cache": np.zeros((32, 1, 576), np.uint16), "nope_first": False},
    {"cos": np.zeros((0, 32), np.uint16), "sin": np.zeros((0, 32), np.uint16)},
    {"kv_c": np.zeros((TOKENS, 2, 512), np.uint16), "k_pe": np.zeros((TOKENS, 2, 64), np.uint16),
     "cache": np.zeros((4, 8, 2, 576), np.uint16)},
])
def test_a_position_outside_the_table_is_a_fault_where_no_kernel_of_aiter_clamps_it(
        changes: dict[str, Any]) -> None:
    with pytest.raises(mla.FaultError, match=r"positions\[0\] is -1, which is not in \[0, "):
        written_at([-1, 1, 2, 3], **changes)


@pytest.mark.parametrize(("changes", "error", "sentence"), [
    ({"q_pe": np.zeros((TOKENS, 2, 64), np.uint16)}, mla.TensorError, "q_pe: expected 3 heads as"),
    ({"k_pe": np.zeros((TOKENS, 64), np.float32)}, mla.TensorError, "k_pe: expected the dtype of"),
    ({"cos": np.zeros((POSITIONS, 16), np.uint16)}, mla.TensorError, r"cos_cache: expected shape"),
    ({"sin": np.zeros((7, 32), np.uint16)}, mla.TensorError, "sin_cache: expected 50 positions"),
    ({"positions": np.zeros(2, np.int64)}, mla.TensorError, "positions: expected at least the 4"),
    ({"q_out": np.zeros((TOKENS, HEADS, 575), np.uint16)}, mla.TensorError, "q_out: expected sha"),
    ({"cache": np.zeros((4, 8, 512), np.uint16)}, mla.TensorError, "kv_cache: expected shape"),
    ({"cache": np.zeros((4, 576), np.uint16)[:, None].repeat(8, 1).transpose(1, 0, 2)[:, :2]},
     mla.TensorError, "kv_cache: expected entries that do not overlap"),
    ({"cache": np.zeros((4, 8, 576), np.uint8)}, mla.TensorError, "k_scale: expected a tensor"),
    ({"q_out": np.zeros((TOKENS, HEADS, 576), np.uint8)}, mla.UnsupportedError, "q_out is fp8 and"),
    ({"q_nope": np.zeros((3, HEADS, 512), np.uint16)}, mla.TensorError, "q_nope: expected the 4"),
])
def test_what_the_operation_does_not_take_is_refused_by_name(
        changes: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        Tokens().write(**changes)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kind", ["given", "tensor", "row"])
def test_casts_to_fp8_divide_by_the_scale_that_their_kind_says(arch: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    words = att.bf16(rng.normal(size=(2, 3, 96)) * 10)
    values = att.from_bf16(words)
    top = np.nanmax(att.fp8_table(ENCODING[arch]))
    scales = np.full(6 if kind == "row" else 1, 0.125, np.float32)
    out = np.zeros((6, 96), np.uint8)
    kernels.quantise_fp8(words, out, scales, kind, arch=arch)
    wanted = {"given": [0.125], "tensor": [np.abs(values).max() / top],
              "row": np.abs(values).max(-1).reshape(6) / top}[kind]
    np.testing.assert_allclose(scales, wanted, rtol=1e-6)
    found = att.fp8_table(ENCODING[arch])[out]
    divided = values.reshape(6, 96) / scales.reshape(-1, 1)
    np.testing.assert_allclose(found, np.clip(divided, -top, top), rtol=2**-4, atol=2**-9)


def test_casts_of_other_sizes_and_kinds_are_refused() -> None:
    one = np.ones(1, np.float32)
    with pytest.raises(mla.TensorError, match="output: expected 8 elements as input, found 7"):
        kernels.quantise_fp8(np.zeros(8, np.uint16), np.zeros(7, np.uint8), one)
    with pytest.raises(mla.TensorError, match="scales: expected 2 elements, found 1"):
        kernels.quantise_fp8(np.zeros((2, 4), np.uint16), np.zeros(8, np.uint8), one, "row")
    with pytest.raises(mla.UsageError, match="scale is 'block'; expected given, tensor, row"):
        kernels.quantise_fp8(np.zeros(8, np.uint16), np.zeros(8, np.uint8), one, "block")
