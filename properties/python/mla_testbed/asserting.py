"""A plan that has to be valid: an assertion for tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bundle import PLAN_ARRAYS, Bundle
from .errors import MlaError
from .judging import check, plan
from .planning import PLAN_DEFAULTS, POISON

#: Words of a work in work_info_set, and of a row in reduce_final_map.
_FIELDS = {
    "work_info_set": ("batch", "partial_row", "qo_start", "qo_end", "kv_start", "kv_end",
                      "kv_offset", "padding"),
    "reduce_final_map": ("qo_start", "qo_end"),
}
_LISTS = ("seqlens_qo_indptr", "seqlens_kv_indptr", "kv_last_page_lens")
#: Lines of a diff; the rest is counted.
_MOST = 20


def assert_valid(bundle: Bundle) -> None:
    """Asserts that the plan of a bundle is valid for its batch.

    What is wrong is said as `check` says it, then the words that differ from the plan which AITER's
    planner makes of the same lists: its word after -, that of the bundle after +.

    Raises:
        AssertionError: the plan is not valid.
        UsageError, UnsupportedError: as `check`.
    """
    __tracebackhide__ = True  # pytest points at the caller
    answer = check(bundle)
    if answer.valid:
        return
    lines = [f"the plan of bundle '{bundle.name}' is not valid for its batch", str(answer)]
    changed = list(_differences(bundle))
    if changed:
        lines += ["words that differ from the planner's:", *changed[:_MOST]]
    if len(changed) > _MOST:
        lines.append(f"and {len(changed) - _MOST} more")
    raise AssertionError("\n".join(lines))


def _differences(bundle: Bundle) -> Iterator[str]:
    """Nothing where there is no decode plan to compare with, or the planner refuses the lists."""
    call = {key: value for key, value in bundle.scalars.items() if key in PLAN_DEFAULTS}
    lists = {key: bundle.arrays[key] for key in _LISTS if key in bundle.arrays}
    try:
        planned = plan({**call, **lists}).buffers
        found = bundle.buffers
    except MlaError:
        return
    for name in PLAN_ARRAYS:
        right, given = (getattr(six, name).reshape(-1) for six in (planned, found))
        if right.size != given.size:
            yield f"{name}: - {right.size} words"
            yield f"{name}: + {given.size} words"
        common = min(right.size, given.size)
        for at in np.flatnonzero(right[:common] != given[:common]).tolist():
            for sign, words in (("-", right), ("+", given)):
                yield f"{_place(name, at)}: {sign} {_word(words[at])}"


def _place(name: str, at: int) -> str:
    fields = _FIELDS.get(name)
    if fields is None:
        return f"{name}[{at}]"
    row, column = divmod(at, len(fields))
    return f"{name}[{row}, {column}] ({fields[column]})"


def _word(word: np.int32) -> str:
    return "not written" if word == POISON else str(word)
