"""Cases, drawn and made smaller, and the Hypothesis strategy over them."""

from __future__ import annotations

import mla_testbed as mla
import pytest
from hypothesis import HealthCheck, find, given, settings


def heads_of(case: str) -> int:
    return int(mla.canonical(case).split("heads=")[1].split(";")[0])


def test_a_number_of_a_seed_is_always_the_same_canonical_case() -> None:
    drawn = [mla.draw(7, number) for number in range(30)]
    assert drawn == [mla.draw(7, number) for number in range(30)]
    assert len(set(drawn)) > 25
    assert [mla.canonical(case) for case in drawn] == drawn


def test_every_chain_of_simpler_cases_ends() -> None:
    case = mla.draw(3, 90)
    for _ in range(1000):
        candidates = mla.simpler(case)
        if not candidates:
            break
        case = candidates[0]
    assert mla.simpler(case) == []


def test_minimise_gives_a_simplest_case_that_still_fails() -> None:
    smallest = mla.minimise("mla1:3q2s700_2q4s90;heads=64;block=16;cu=80;arch=gfx950",
                            lambda case: heads_of(case) >= 32)
    assert heads_of(smallest) >= 32
    assert all(heads_of(case) < 32 for case in mla.simpler(smallest))


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(mla.UsageError, match="number is -1; expected 0 to"):
        mla.draw(1, -1)


@settings(max_examples=40, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])
@given(case=mla.cases())
def test_the_strategy_draws_canonical_cases(case: str) -> None:
    assert mla.canonical(case) == case


def test_hypothesis_shrinks_through_our_simpler_cases() -> None:
    def has_many_heads(case: str) -> bool:
        return heads_of(case) >= 32

    found = find(mla.cases(), has_many_heads,
                 settings=settings(max_examples=200, deadline=None, derandomize=True))
    assert found.startswith("mla1:1q1s")
    assert heads_of(found) == 32


def test_a_falsifying_example_is_printed_as_the_line_of_its_case(
        capsys: pytest.CaptureFixture[str]) -> None:
    @settings(max_examples=50, deadline=None, derandomize=True, database=None)
    @given(case=mla.cases())
    def has_few_heads(case: str) -> None:
        assert heads_of(case) < 32

    with pytest.raises(AssertionError) as failed:
        has_few_heads()
    # Python 3.10 has no notes: Hypothesis prints there.
    said = "\n".join(getattr(failed.value, "__notes__", [])) + capsys.readouterr().out
    assert "case='mla1:1q1s" in said
