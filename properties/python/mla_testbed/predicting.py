"""How long a decode step takes, as predicted from published times. Nothing is measured."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _options
from ._cases import _text
from .bundle import Bundle, from_document
from .errors import UnsupportedError, UsageError


class Prediction(NamedTuple):
    """A predicted time, in microseconds. docs/use/time.md says how far it may be trusted.

    Attributes:
        total_us: the whole step; the sum of the four terms.
        low_us, high_us: nine of ten published times of such shapes lie between them.
        fitted: whether such a shape was fitted; without it the interval is that of a guess.
        beyond: what no published time covers, in words; empty if it is fitted.
        stage1_us, imbalance_us, reduce_us, launch_us: the terms.
        roofline_us: every key and row once, at the fitted bandwidth.
        better: the prediction for a plan that is predicted to be faster; None if none was found or
            asked for.
        better_bundle: that plan with the lists, for an engine to launch; None without one, and of a
            case.
    """

    total_us: float
    low_us: float
    high_us: float
    fitted: bool
    beyond: str
    stage1_us: float
    imbalance_us: float
    reduce_us: float
    launch_us: float
    roofline_us: float
    better: Prediction | None = None
    better_bundle: Bundle | None = None


#: Results of the planner's plan, which another plan does not have.
_RESULTS = ("out", "lse")
_LISTS = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map")


def _with_plan(bundle: Bundle, plan: dict[str, Any], predicted: dict[str, Any]) -> Bundle:
    document = {**json.loads(bundle.document()), "predicted": predicted}
    for name in _LISTS:
        document.pop(f"launch_{name}", None)
    tensors = {name: t for name, t in bundle.tensors().items() if name not in _RESULTS}
    other = from_document({**document, **plan})
    return Bundle(other.scalars, {**other.arrays, **tensors})


def predict(case_or_bundle: str | Bundle, *, better: bool = False) -> Prediction:
    """Predicts how long a decode step takes on an MI350X or MI355X.

    Args:
        case_or_bundle: a case such as "mla1:16q1s4k;arch=gfx950;dtype=fp8/fp8", or a bundle with a
            valid plan.
        better: also search a plan that is predicted to be faster.

    Raises:
        UsageError: no case and no bundle.
        UnsupportedError: outside of the fitted range, or a step of another kind.
        RefusedError: the plan of the bundle is not valid.
    """
    flag = _options.flag(better, "better")
    if isinstance(case_or_bundle, Bundle):
        found = json.loads(_text("mla_time_plan", case_or_bundle.document().encode(), flag))
    elif isinstance(case_or_bundle, str):
        found = json.loads(_text("mla_case_time", _options.text(case_or_bundle, "case"), flag))
    else:
        raise UsageError(f"predict() got {case_or_bundle!r}; expected a case or a Bundle")
    if "none" in found["predicted"]:
        raise UnsupportedError(f"nothing is predicted: {found['predicted']['none']}")
    now = Prediction(**found["predicted"])
    if not found.get("predicted_better"):
        return now
    faster = Prediction(**found["predicted_better"])
    if isinstance(case_or_bundle, str):
        return now._replace(better=faster)
    return now._replace(better=faster,
                        better_bundle=_with_plan(case_or_bundle, found["better_plan"],
                                                 found["predicted_better"]))
