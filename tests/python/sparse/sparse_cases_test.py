"""Cases of the sparse chain: lines, refusals, what they stand for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mla_testbed.errors import UsageError
from mla_testbed.sparse import Case, inputs_of
from mla_testbed.sparse.draw import drawn


@given(st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_a_drawn_case_is_one_line_that_gives_the_case_back(seed, number):
    case = drawn(seed, number)
    assert "\n" not in str(case)
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize(("line", "sentence"), [
    ("mla1:1q1s5", "is no case of the sparse chain"),
    ("sparse1:1q6s5", "a request has 6 rows and 5 keys"),
    ("sparse1:x", "'x' is no group of requests"),
    ("sparse1:1q1s5;block=0", "case field 'block' is 0; expected 1 to 4096"),
    ("sparse1:1q1s5;block=24;layout=shuffle", "'block' is 24; layout 'shuffle' has tiles of 16"),
    ("sparse1:1q1s5;gap=8", "case field 'gap' is 8; expected a multiple of 16"),
    ("sparse1:1q1s5;shared=8;block=16", "'shared' is 8; expected whole blocks of 16"),
    ("sparse1:1q1s5;fp8=e5m2", "case field 'fp8' is 'e5m2'; expected one of fnuz, ocp"),
    ("sparse1:1q1s5;width=512", "case field 'width' is '512'"),
    ("sparse1:1q1s5;k=2;k=3", "'k=3' is unknown, has no value, or is there twice"),
    ("sparse1:1q1s5;data=gauss.x", "case field 'data' has 'x'; expected a number"),
    ("sparse1:1q1s5;dcp=9", "case field 'dcp' is 9; expected 1 to 8"),
    ("sparse1:1q1s5;dcp=0", "case field 'dcp' is 0; expected 1 to 8"),
    ("sparse1:1q1s5;interleave=4", "case field 'interleave' is 4; expected a divisor of a block"),
    ("sparse1:1q1s5;dcp=2;interleave=3", "'interleave' is 3; expected a divisor of a block of 16"),
    ("sparse1:1q1s5;dcp=2;interleave=0", "case field 'interleave' is 0; expected a divisor"),
    ("sparse1:1q1s50;dcp=2;shared=16", "'shared' is 16; expected whole blocks of all 2 ranks, 32"),
    ("sparse1:1q1s5;dcp=2;window=16", "'dcp' is 2: ranks share no context of DeepSeek-V4"),
    ("sparse1:1q1s5;dcp=two", "case field 'dcp' has 'two'; expected a number"),
    ("sparse1:9q1s32768;dcp=2", "the case has 294912 keys; expected at most 262144 of several"),
    ("sparse1:4096q1s4096", "the case has 16777216 keys"),
])
def test_a_malformed_line_is_refused_with_the_value(line, sentence):
    with pytest.raises(UsageError, match=sentence.replace("+", r"\+")):
        Case.parse(line)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 20))
def test_no_two_keys_share_a_slot_but_those_of_the_common_prefix(seed):
    inputs = inputs_of(drawn(seed, 0))
    shared = inputs.case.shared
    own = [inputs.slots(request)[shared:] for request in range(len(inputs.lengths))]
    flat = np.concatenate(own)
    assert np.unique(flat).size == flat.size
    for request in range(len(inputs.lengths)):
        assert np.array_equal(inputs.slots(request)[:shared], inputs.slots(0)[:shared])
    live = inputs.slot_mapping[inputs.slot_mapping >= 0]
    assert sorted(live) == sorted({*flat.tolist(), *inputs.slots(0)[:shared].tolist()})
    assert live.min() >= inputs.case.block, "block 0 belongs to no request"


def test_ranks_are_printed_where_there_are_several():
    assert "dcp" not in str(Case.parse("sparse1:1q1s5"))
    assert ";dcp=2;interleave=8;" in str(Case.parse("sparse1:1q1s5;dcp=2;interleave=8"))


def test_the_inputs_of_a_line_are_the_same_each_time():
    case = Case.parse("sparse1:1q2s40_1q1s300")
    first, second = inputs_of(case), inputs_of(dataclasses.replace(case))
    for name in ("tables", "slot_mapping", "keys", "q", "weights", "latent", "query"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
