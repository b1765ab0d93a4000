"""DeepSeek-V4's stages in float32, as kernels compute them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import model, model_ranks, rows
from .compressor import EPS, Source, Step
from .inputs import Inputs
from .lists import Lists
from .numbers import OCP, rounded_bf16, to_bf16


def compress(source: Source, steps: Sequence[Step], held: np.ndarray) -> None:
    """Keeps states from step to step; makes a key at the end of each group."""
    kept: list[dict[int, tuple[np.ndarray, np.ndarray]]] = [{} for _ in source.kv]
    for step in steps:
        for request, begin, end in step:
            states = kept[request]
            for at in range(begin, end):
                states[at] = state_of(source, request, at)
                if (at + 1) % source.ratio == 0:
                    put(source, held, request, at // source.ratio, group_of(source, states, at))
                    for old in [key for key in states if key <= at - source.ratio]:
                        del states[old]


def state_of(source: Source, request: int, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and scores of a token."""
    return source.kv[request][at], source.score[request][at] + source.ape[at % source.ratio]


def group_of(source: Source, states: dict[int, tuple[np.ndarray, np.ndarray]], last: int,
             *, swapped: bool = False, absent: float = -np.inf) -> np.ndarray:
    """(width,) float32: the weighted sum of the group that ends at a position.

    swapped: the halves change places. absent: the score of a token that is not there.
    """
    width, r = source.width, source.ratio
    values = np.zeros((source.halves * r, width), np.float32)
    scores = np.full((source.halves * r, width), absent, np.float32)
    for place in range(source.halves * r):
        at = last + 1 - source.halves * r + place
        half = place // r if source.halves > 1 else 0
        half = 1 - half if swapped and source.halves > 1 else half
        part = np.s_[half * width:(half + 1) * width]
        if at in states:
            values[place], scores[place] = states[at][0][part], states[at][1][part]
    weights = np.exp(scores - scores.max(axis=0))
    made: np.ndarray = (weights / weights.sum(axis=0) * values).sum(axis=0)
    return made


def put(source: Source, held: np.ndarray, request: int, group: int, value: np.ndarray, *,
        turn_at: int | None = None) -> None:
    """Norm, rotation, quantisation, and the row; turn_at: the position of the rotation."""
    case = source.inputs.case
    latent, half = case.width[0], case.width[1] // 2
    scale = np.float32(1) / np.sqrt((value ** 2).mean(dtype=np.float32) + np.float32(EPS))
    normed = value * scale * source.weight
    turns = source.turns[group * source.ratio if turn_at is None else turn_at]
    even, odd = normed[latent::2], normed[latent + 1::2]
    cos, sin = turns[:half], turns[half:]
    turned = np.stack([even * cos - odd * sin, odd * cos + even * sin], axis=1).reshape(-1)
    at = rows.places(case, np.array([source.slots(request)[group]]))
    size = rows.Layout(case).tile
    for tile in range(latent // size):
        part = rounded_bf16(normed[tile * size:(tile + 1) * size])
        exponent = np.ceil(np.log2(max(np.abs(part).max(), np.float32(1e-4)) / np.float32(448)))
        held[at.values[0, tile * size:(tile + 1) * size]] = OCP.encode(part * np.exp2(-exponent))
        held[at.scales[0, tile]] = exponent + 127
    held[at.spare[0]] = 0
    held[at.rope[0]] = rows.as_bytes(to_bf16(turned)[None])[0]


def window(inputs: Inputs) -> Lists:
    """The last tokens up to a row's own."""
    made = []
    for row, request in enumerate(inputs.owners):
        end = int(inputs.visible[row])
        at = np.arange(max(end - inputs.case.window, 0), end)
        block = inputs.tables[request, at // inputs.case.block]
        made.append(block * inputs.case.block + at % inputs.case.block)
    return Lists.of_rows([*made, *[np.zeros(0, np.int64)] * inputs.case.pad])


def visible(inputs: Inputs) -> np.ndarray:
    """(rows, most): all compressed keys of whole groups, then -1."""
    counts = inputs.visible // inputs.case.ratio
    at = np.arange(max(1, int(counts.max(initial=0))))
    return np.where(at < counts[:, None], at, -1).astype(np.int32)


def share(layer: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """The conversion again, with the layer's own table."""
    return model.convert(layer, selection, stale)


#: All stages.
MODEL = model.Stages(
    model.write, model.gather, model.logits, model.select, model.convert, model.split, model.store,
    model.fetch, model.attend, model.merge, compress, window, visible, share,
    model_ranks.deal, model_ranks.attend_part, model_ranks.join)
