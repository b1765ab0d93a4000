"""Compressors, window lists and shared selections with a defect, for plants.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import model, model_v4
from .compressor import Source, Step
from .inputs import Inputs
from .lists import Lists

States = dict[int, tuple[np.ndarray, np.ndarray]]


def _compress(group: Callable[[Source, States, int], np.ndarray], *, forgets: bool = False,
              turn_late: bool = False, ends: Callable[[Source, int], bool] | None = None,
              ) -> Callable[..., None]:
    """A compressor of which one thing is other than in the model."""

    def compress(source: Source, steps: Sequence[Step], held: np.ndarray) -> None:
        kept: list[States] = [{} for _ in source.kv]
        for step in steps:
            for request, begin, end in step:
                states = {} if forgets else kept[request]
                for at in range(begin, end):
                    states[at] = model_v4.state_of(source, request, at)
                    whole = (at + 1) % source.ratio == 0 if ends is None else ends(source, at)
                    number = at // source.ratio
                    if whole and number < source.slots(request).size:
                        model_v4.put(source, held, request, number, group(source, states, at),
                                     turn_at=at if turn_late else None)

    return compress


halves_swapped = _compress(lambda *args: model_v4.group_of(*args, swapped=True))
absent_counted = _compress(lambda *args: model_v4.group_of(*args, absent=0.0))
states_forgotten = _compress(model_v4.group_of, forgets=True)
turned_at_last = _compress(model_v4.group_of, turn_late=True)
one_early = _compress(model_v4.group_of,
                      ends=lambda source, at: at % source.ratio == source.ratio - 2)


def window_of_end(inputs: Inputs) -> Lists:
    """All rows of a request have the window of its last row."""
    last = np.array([inputs.lengths[request] for request in inputs.owners])
    return model_v4.window(dataclasses.replace(inputs, visible=last))


def ring_too_short(inputs: Inputs) -> Lists:
    """A ring of `window` rows, in which a later row of the step has overwritten the first ones."""
    made = []
    for row, request in enumerate(inputs.owners):
        end, length = int(inputs.visible[row]), int(inputs.lengths[request])
        at = np.arange(max(end - inputs.case.window, 0), end)
        at = np.where(at + inputs.case.window < length, at + inputs.case.window, at)
        made.append(inputs.slots(int(request))[at])
    return Lists.of_rows([*made, *[np.zeros(0, np.int64)] * inputs.case.pad])


def half_groups(inputs: Inputs) -> np.ndarray:
    """A group is visible as soon as it has a token."""
    counts = -(-inputs.visible // inputs.case.ratio)
    counts = np.minimum(counts, inputs.lengths[inputs.owners] // inputs.case.ratio)
    at = np.arange(max(1, int(counts.max(initial=0))))
    return np.where(at < counts[:, None], at, -1).astype(np.int32)


def list_of_first_layer() -> dict[str, Any]:
    """A layer takes the list of the layer that selected, whose table is another one."""
    kept: list[Lists] = []

    def convert(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
        kept[:] = [model.convert(inputs, selection, stale)]
        return kept[0]

    return {"convert": convert, "share": lambda layer, selection, stale: kept[0]}


def list_of_step_before() -> dict[str, Any]:
    """A layer's list is kept as long as the batch has as many rows."""
    kept: dict[int, Lists] = {}

    def share(layer: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
        return kept.setdefault(len(selection), model.convert(layer, selection, stale))

    return {"share": share}
