"""The chain's model holds; each planted defect fails its property."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mla_testbed.sparse import MODEL, Case, judge
from mla_testbed.sparse.draw import drawn
from mla_testbed.sparse.plants import PLANTS, caught

#: Of docs/reference/sparse.md.
PROPERTIES = [f"SP-{number:02}" for number in range(1, 27)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 30))
def test_every_property_holds_of_the_model_on_a_drawn_case(seed):
    case = drawn(seed, 0)
    assert judge(case, MODEL) == [], str(case)


@pytest.mark.parametrize("line", [
    "sparse1:1q1s1;k=64;width=512+64;pad=2",
    "sparse1:3q1s63_1q0s0_1q4s129;block=1;k=64;width=64+0",
    "sparse1:2q2s2100;block=64;layout=shuffle;k=2048;heads=32;qheads=16;width=64+64;data=ties.4",
    "sparse1:4q5s160;block=80;layout=shuffle;shared=80;k=128;fp8=ocp;holes=3;width=64+64",
    "sparse1:1q3s200;data=zero.1;scale=f32;width=448+64",
    "sparse1:1q3s200;data=zero.1;scale=f32;width=512+0;cache=ds;gap=32",
    "sparse1:2q1s300;data=wide.1;width=448+64;cache=v4;fp8=ocp;pad=1;block=64",
    "sparse1:2q3s300_1q1s1;dcp=4;interleave=8;pad=2;holes=3;width=64+64",
    "sparse1:3q2s200;dcp=3;block=1;shared=90;k=64;width=64+0",
    "sparse1:2q1s300;dcp=2;interleave=16;cache=ds;scale=f32;gap=16;k=256",
])
def test_every_property_holds_of_the_model_on_a_chosen_case(line):
    assert judge(Case.parse(line), MODEL) == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)
def test_a_planted_defect_fails_its_property(plant):
    found = caught(plant, seed=1, most=25)
    assert found is not None, f"{plant.id} was not caught by {plant.property} in 25 cases"


def test_each_property_that_is_checked_has_a_plant():
    assert sorted({plant.property for plant in PLANTS}) == PROPERTIES
