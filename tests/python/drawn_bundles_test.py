"""Bundles that Hypothesis draws and damages: what is wrong is known, and the verdict says it."""

from __future__ import annotations

import dataclasses
from typing import Any

import mla_testbed as mla
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

PLAN = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map")
FIELDS = ("batch", "partial_row", "q_begin", "q_end", "kv_begin", "kv_end", "kv_offset")

drawn = settings(max_examples=150, deadline=None, derandomize=True)


@dataclasses.dataclass(frozen=True)
class Step:
    """Decode of requests with the same number of rows."""

    keys: tuple[int, ...]
    rows: int
    page: int
    units: int

    def bundle(self, requests: int | None = None) -> mla.Bundle:
        """The plan of the first so many requests, and page ids from 1 on."""
        keys = np.array(self.keys[:requests])
        pages = np.concatenate([[0], np.cumsum(-(-keys // self.page))])
        bundle = mla.plan({
            "seqlens_qo_indptr": np.arange(len(keys) + 1) * self.rows, "seqlens_kv_indptr": pages,
            "kv_last_page_lens": (keys - 1) % self.page + 1, "page_size": self.page,
            "num_cu": self.units, "max_seqlen_qo": self.rows, "uni_seqlen_qo": self.rows})
        bundle.arrays["kv_indices"] = np.arange(1, pages[-1] + 1, dtype=np.int32)
        bundle.scalars.update(num_pages=int(pages[-1]) + 1, prefix_caching=False)
        return bundle


# Now and then a page has so few keys that AITER's own plan would hide some of them.
lengths = st.integers(4, 300) | st.builds(lambda pages, more: 16 * pages + more,
                                          st.integers(1, 18), st.integers(1, 3))
steps = st.builds(Step, st.lists(lengths, min_size=1, max_size=4).map(tuple),
                  st.integers(1, 4), st.sampled_from([1, 16]), st.integers(2, 8))


def place_of(bundle: mla.Bundle, entry: int) -> tuple[int, int]:
    """(request, which of its pages) of an entry of kv_indices."""
    indptr = bundle.arrays["seqlens_kv_indptr"]
    request = int(np.searchsorted(indptr, entry, "right")) - 1
    return request, entry - int(indptr[request])


@drawn
@given(step=steps, data=st.data())
def test_a_page_id_outside_the_cache_is_named_and_the_last_one_inside_is_not(
        step: Step, data: Any) -> None:
    bundle = step.bundle()
    ids, pages = bundle.arrays["kv_indices"], bundle.scalars["num_pages"]
    assert mla.check(bundle).valid
    entry = data.draw(st.integers(0, len(ids) - 1))
    wrong = data.draw(st.sampled_from([pages, pages + 1, 2**31 - 1, -1, -2**31]))
    request, place = place_of(bundle, entry)
    ids[entry] = wrong
    answer = mla.check(bundle)
    assert [v.rule for v in answer.violations] == ["batch"]
    assert answer.violations[0].what.startswith(f"page {place} of request {request} is {wrong} in")
    assert answer.at_fault == "the builder"
    if wrong > 0:
        bundle.scalars["num_pages"] = wrong + 1 if wrong < 2**31 - 1 else wrong
        assert mla.check(bundle).valid == (wrong < 2**31 - 1)


@drawn
@given(step=steps, caching=st.booleans(), data=st.data())
def test_a_page_that_stands_twice_is_named_with_both_places(step: Step, caching: bool,
                                                            data: Any) -> None:
    bundle = step.bundle()
    bundle.scalars["prefix_caching"] = caching
    ids = bundle.arrays["kv_indices"]
    pair = st.tuples(*2 * [st.integers(0, len(ids) - 1)]).filter(lambda two: two[0] < two[1])
    if len(ids) < 2:
        return
    one, other = data.draw(pair)
    ids[other] = ids[one]
    (a, first), (b, second) = place_of(bundle, one), place_of(bundle, other)
    answer = mla.check(bundle)
    if a == b:
        what = f"request {a} has page {ids[one]} twice, as its pages {first} and {second}"
        assert [v.what for v in answer.violations] == [what]
    elif caching:
        assert answer.valid
        assert f"requests {a} and {b} share page {ids[one]}" in answer.notes
    else:
        what = f"requests {a} and {b} share page {ids[one]}, and the engine has no prefix caching"
        assert [v.what for v in answer.violations] == [what]


@drawn
@given(step=steps, data=st.data())
def test_the_words_of_a_plan_that_were_damaged_are_named_with_what_was_planned(
        step: Step, data: Any) -> None:
    bundle = step.bundle()
    words = bundle.arrays["work_info"]
    works = int(bundle.arrays["work_indptr"][-1])
    # Another q_end may be the plan of a longer request.
    word = st.tuples(st.integers(0, works - 1), st.sampled_from([0, 1, 2, 4, 5, 6]))
    places = data.draw(st.lists(word, min_size=1, max_size=3, unique=True).map(sorted))
    said = []
    for work, field in places:
        was = int(words[8 * work + field])
        words[8 * work + field] = was + data.draw(st.sampled_from([1000, -1000]))
        now = int(words[8 * work + field])
        said.append(f"work {work} {FIELDS[field]} is {now}, planned {was}")
    answer = mla.check(bundle)
    if answer.valid:
        return
    count = "one word" if len(said) == 1 else f"{len(said)} words"
    assert answer.diagnosis == f"it differs from the planner's in {count}: {'; '.join(said)}"


@drawn
@given(step=steps.filter(lambda s: len(s.keys) > 1), data=st.data())
def test_requests_that_the_plan_lacks_are_named_from_the_first_on(step: Step, data: Any) -> None:
    planned = data.draw(st.integers(1, len(step.keys) - 1))
    bundle, short = step.bundle(), step.bundle(planned)
    sizes = {name: len(bundle.arrays[name]) for name in PLAN}
    for name in PLAN:
        words = short.arrays[name]
        fill = words[-1] if name.endswith("indptr") else 0
        bundle.arrays[name] = np.concatenate(
            [words, np.full(max(0, sizes[name] - len(words)), fill, np.int32)])
    answer = mla.check(bundle)
    missing = [f"request {r}: no work writes rows {r * step.rows}..{(r + 1) * step.rows}"
               for r in range(planned, len(step.keys))]
    assert [v.what for v in answer.violations] == missing
    assert answer.at_fault == "the builder"


@drawn
@given(keys=st.integers(8, 300), data=st.data())
def test_a_tile_has_as_many_pieces_as_the_launch_has_splits_and_not_one_more(
        keys: int, data: Any) -> None:
    step = Step((keys,), 1, 1, 2)
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, keys - 1), min_size=2, max_size=6))), keys]
    pieces = len(cuts) - 1
    bundle = step.bundle()
    bundle.arrays["work_indptr"] = np.array([0, pieces, pieces], np.int32)
    bundle.arrays["work_info"] = np.array(
        [[0, i, 0, 1, a, b, keys - b, 0] for i, (a, b)
         in enumerate(zip(cuts[:-1], cuts[1:], strict=True))], np.int32).reshape(-1)
    bundle.arrays["reduce_indptr"] = np.array([0, pieces], np.int32)
    bundle.arrays["reduce_final_map"] = np.array([0, 1], np.int32)
    bundle.arrays["reduce_partial_map"] = np.arange(pieces, dtype=np.int32)
    bundle.scalars["buffer_sizes"].update(
        {"work_info_set": [pieces, 8], "reduce_partial_map": [pieces]})
    bundle.scalars["num_kv_splits"] = pieces
    assert mla.check(bundle).valid
    for splits in range(1, pieces):
        bundle.scalars["num_kv_splits"] = splits
        answer = mla.check(bundle)
        assert not answer.valid
        assert f"{pieces} pieces" in answer.violations[0].what
