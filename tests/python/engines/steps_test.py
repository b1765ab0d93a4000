"""Cases as steps of an engine, without an engine."""

import random

import numpy as np
import pytest
from mla_testbed import UsageError, canonical, draw
from mla_testbed.engines import adapt, steps_of, tensors
from mla_testbed.engines.facts import facts_of
from mla_testbed.engines.line import DEFAULTS, CaseLine
from mla_testbed.engines.mutate import mutated


def adapted(case, arch=None):
    return str(adapt.common(CaseLine.parse(case), arch))


def test_a_line_read_and_written_is_the_same_line():
    for number in range(150):
        case = draw(3, number)
        assert str(CaseLine.parse(case)) == canonical(case)


def test_what_a_line_leaves_out_has_the_value_that_the_library_gives_it():
    plain = canonical("mla1:1q1s1")
    for name, value in DEFAULTS.items():
        assert canonical(f"{plain};{name}={value}") == plain, name
    assert not {name for name, _ in CaseLine.parse(plain).fields} & set(DEFAULTS)


def test_every_step_of_a_sequence_has_its_own_requests():
    first, second = steps_of("mla1:2q1s1k+1q2s300_1q1s7;block=16;pad=3")
    assert first.seq_lens == (1024, 1024)
    assert second.query_lens == (2, 1)
    assert (first.number, second.number, second.pad) == (0, 1, 3)


@pytest.mark.parametrize("layout", ["contiguous", "shuffled.5", "interleaved", "descending"])
def test_no_two_requests_share_a_slot_unless_they_share_a_prefix(layout):
    step, = steps_of(f"mla1:3q1s50_2q2s33;block=16;layout={layout}")
    slots = np.concatenate([step.token_slots(i) for i in range(step.requests)])
    assert slots.size == 3 * 50 + 2 * 33
    assert np.unique(slots).size == slots.size
    assert slots.max() < step.pool_blocks * step.block_size


def test_requests_share_the_blocks_of_their_prefix_and_no_others():
    step, = steps_of("mla1:3q1s80;block=16;layout=prefix.2")
    tables = np.array(step.block_tables)
    assert (tables[:, :2] == tables[0, :2]).all()
    assert np.unique(tables[:, 2:]).size == 9


def test_layouts_arrange_blocks_as_their_names_say():
    down, = steps_of("mla1:1q1s64;block=16;layout=descending")
    turns, = steps_of("mla1:2q1s32;block=16;layout=interleaved")
    assert down.block_tables == ((4, 3, 2, 1),)
    assert turns.block_tables == ((1, 3), (2, 4))


def test_pages_of_a_request_are_its_slots_in_the_kernel_s_unit():
    step, = steps_of("mla1:1q1s40;block=32;layout=contiguous;origin=3")
    assert step.page_ids(0, 16).tolist() == [6, 7, 8]
    assert step.page_ids(0, 1)[:2].tolist() == [96, 97]
    with pytest.raises(UsageError, match="pages of 24 tokens in blocks of 32"):
        step.page_ids(0, 24)


def test_an_order_that_is_no_permutation_is_refused():
    step, = steps_of("mla1:1q1s40_1q2s9")
    assert step.ordered([1, 0]).query_lens == (2, 1)
    with pytest.raises(UsageError, match=r"order \(1, 1\)"):
        step.ordered([1, 1])


@pytest.mark.parametrize(("case", "text"), [
    ("mla1:1q0s5", "no request with rows"),
    ("mla1:1q4s3", "request 0 .* has 3 keys for 4 rows"),
    ("nonsense", "nonsense"),
])
def test_what_no_engine_is_asked_is_refused_with_the_value(case, text):
    with pytest.raises(UsageError, match=text):
        steps_of(case)


@pytest.mark.parametrize("number", range(60))
def test_every_drawn_case_adapts_to_steps_or_says_why_not(number):
    case = draw(9, number)
    try:
        steps = steps_of(adapted(case))
    except UsageError as e:
        assert "has rows" in str(e)
        return
    for step in steps:
        assert step.compute_units in (304, 80, 256)
        assert step.block_size == 1 or step.block_size % 16 == 0
        assert all(q >= 1 and n >= q
                   for q, n in zip(step.query_lens, step.seq_lens, strict=True))


@pytest.mark.parametrize(("asked", "units"), [(64, 80), (191, 80), (193, 304), (304, 304)])
def test_compute_units_become_those_of_the_nearest_product(asked, units):
    line = adapt.common(CaseLine.parse(f"mla1:1q1s9;arch=gfx942;cu={asked}"))
    assert adapt.product(line) == ("gfx942", units)


@pytest.mark.parametrize(("asked", "block"), [(1, 1), (7, 1), (8, 16), (16, 16), (17, 32)])
def test_blocks_have_one_token_or_a_multiple_of_sixteen(asked, block):
    assert adapt.common(CaseLine.parse(f"mla1:1q1s9;block={asked}"))["block"] == str(block)


def test_an_adapted_case_adapts_to_itself():
    for number in range(60):
        try:
            once = adapted(draw(4, number), "gfx950")
        except UsageError:
            continue
        assert adapted(once, "gfx950") == once
        assert "arch=gfx950;cu=256" in once


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_fp8_bits_are_the_nearest_value(arch):
    torch = pytest.importorskip("torch", reason="torch has both fp8 types: pip install torch")
    dtype = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}[arch]
    codes = torch.arange(256, dtype=torch.uint8).view(dtype).float().numpy()
    assert np.array_equal(tensors.fp8_values(arch), codes, equal_nan=True)
    values = np.random.default_rng(1).standard_normal(4096).astype(np.float32)
    away = np.abs(tensors.values_of(tensors.fp8_bits(values, arch), arch) - values)
    assert (away <= np.abs(torch.from_numpy(values).to(dtype).float().numpy() - values)).all()


def test_bf16_bits_round_to_nearest_even():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -2.5, 0.0], np.float32)
    rounded = tensors.values_of(tensors.bf16_bits(values), "gfx942")
    assert rounded.tolist() == [1.0, 1.0, 1 + 2**-6, -2.5, 0.0]


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_slots_that_nobody_owns_are_nan(dtype):
    step, = steps_of(f"mla1:2q1s20;block=16;dtype={dtype}/{dtype}")
    values = tensors.values_of(tensors.cache(step, step.dtype_kv), step.arch)
    owned = np.concatenate([step.token_slots(0), step.token_slots(1)])
    assert np.isfinite(values[owned]).all()
    assert np.isnan(np.delete(values, owned, axis=0)).all()


def test_mutated_cases_are_cases():
    source, base, changed = random.Random(1), adapted(draw(1, 3)), 0
    for number in range(200):
        other = mutated(base, draw(2, number), source)
        assert canonical(other) == other
        changed += other != base
    assert changed > 150


@pytest.mark.parametrize(("case", "past"), [
    ("mla1:1q1s17", 1), ("mla1:1q1s16", 0), ("mla1:1q1s68;block=64", 4),
    ("mla1:1q1s300_1q1s66_1q1s3;block=64", 2), ("mla1:1q1s40;block=64", 0)])
def test_keys_past_a_block_are_the_fewest_that_a_request_has(case, past):
    step, = steps_of(case)
    assert facts_of(step)["keys_past_a_block"] == past
