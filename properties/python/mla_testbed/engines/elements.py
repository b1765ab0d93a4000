"""Elements of a result that are further from the reference than their bound: P05."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .findings import ATTEND, Finding
from .step import EngineStep

_SHOWN = 4


def check_elements(
    step: EngineStep, order: Sequence[int], out: np.ndarray, right: np.ndarray, bound: np.ndarray,
    named: Callable[[int], str] = "request {}".format,
) -> list[Finding]:
    """P05: every element is within its bound; NaN is not.

    Args:
        order: the request of each run of rows.
        out, right, bound: (rows, heads, values): the engine's, the reference's, and how far apart
            they may be.
        named: what the sentence calls a request.
    """
    if out.shape != right.shape:
        return [Finding("P05", step.number, f"the result has shape {out.shape}; expected "
                        f"{right.shape}", stage=ATTEND)]
    away = np.abs(out.astype(np.float64) - right)
    wrong = ~(away <= bound)
    if not wrong.any():
        return []
    starts = np.cumsum([0, *(step.query_lens[request] for request in order)])
    worst = np.where(wrong, np.where(np.isfinite(away), away, np.inf), -1.0)
    lines = []
    for flat in np.argsort(-worst, axis=None)[:min(_SHOWN, int(wrong.sum()))]:
        row, head, dim = (int(n) for n in np.unravel_index(flat, out.shape))
        place = int(np.searchsorted(starts, row, side="right")) - 1
        lines.append(f"out of {named(order[place])} row {row - starts[place]} head {head} dim {dim}"
                     f" is {out[row, head, dim]:.6g}, the reference has "
                     f"{right[row, head, dim]:.6g} and allows {bound[row, head, dim]:.3g}")
    return [Finding("P05", step.number, f"{lines[0]}; wrong are {int(wrong.sum())} of {out.size} "
                    "elements", tuple(lines[1:]), ATTEND)]
