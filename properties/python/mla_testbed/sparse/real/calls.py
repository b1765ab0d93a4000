"""What the adapters of the projects share: from a case to a kernel's arguments, and the verdict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from .. import attention, cache, lists, logits, ranks, rows, selection, storing, writing
from ..case import KEY
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..numbers import of_bf16, rounded_bf16, to_bf16
from .device import back, bf16, blocks, bytes_of, put


def of_writer(inputs: Inputs, dtype: torch.dtype | None, divisor: float,
              call: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object],
              *, floor: float = cache.FLOOR, padding: bool = True) -> list[Finding]:
    """call(keys, cache, slot_mapping): a writer of the indexer's cache.

    floor: the least magnitude for a scale. padding: it takes slots of -1; else it gets none.
    """
    keys = put(inputs.keys).to(torch.bfloat16)

    def write(_: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
        cached = blocks(inputs, held, dtype)
        live = slice(None) if padding else slot_mapping >= 0
        call(keys[live], cached, put(slot_mapping[live]))
        held[:] = bytes_of(cached, held.size)

    return writing.check_write(inputs, write, (divisor,), floor)


def of_gather(inputs: Inputs, dtype: torch.dtype,
              call: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]) -> list[Finding]:
    """call(cache, codes, scales): a gather of all keys; scales is (keys, 4) bytes."""
    held, total = cache.written(inputs), int(inputs.key_starts[-1])
    codes, scales = np.full((total + 1, KEY), 0x5A, np.uint8), np.full((total + 1, 4), 0x5A,
                                                                       np.uint8)
    codes_on, scales_on = put(codes).view(dtype), put(scales)
    call(blocks(inputs, held, dtype), codes_on[:total], scales_on[:total])
    codes, scales = back(codes_on), back(scales_on)
    fence = np.concatenate([codes[-1] != 0x5A, scales[-1] != 0x5A])
    return writing.check_gather(inputs, held, codes[:-1],
                                np.ascontiguousarray(scales[:-1]).view(np.float32)[:, 0], fence)


def of_store(inputs: Inputs, call: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object],
             *, padding: bool = True, floor: float = rows.FLOOR) -> list[Finding]:
    """call(tokens, bytes, slots): a writer of packed rows; padding, floor: as for of_writer."""

    def store(_: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
        slots = slot_mapping if padding else slot_mapping[slot_mapping >= 0]
        cached = put(held)
        call(bf16(storing.tokens_of(inputs, slots)), cached, put(slots))
        held[:] = back(cached)

    return storing.check_store(inputs, store, floor=floor)


def all_slots(inputs: Inputs) -> np.ndarray:
    """(keys,) int64: the slots of all requests' keys."""
    return np.concatenate([inputs.slots(request) for request in range(len(inputs.lengths))])


def of_fetch(inputs: Inputs, bits: np.ndarray, fence: np.ndarray) -> list[Finding]:
    """bits: (keys, width) uint16 of bf16, all keys of all requests."""
    return storing.check_fetch(inputs, all_slots(inputs), of_bf16(bits), fence)


def of_logits(inputs: Inputs, held: np.ndarray, found: np.ndarray, after: str) -> list[Finding]:
    """found: (rows, W + FENCE)."""
    return logits.check_logits(inputs, logits.rows_of(inputs, held), found, after)


def before_logits(inputs: Inputs) -> torch.Tensor:
    """(rows, W + FENCE) on the device: no kernel wrote it."""
    shape = inputs.case.rows, logits.columns(inputs) + logits.FENCE
    return put(np.full(shape, logits.BEFORE))


def selected(inputs: Inputs) -> np.ndarray:
    """(rows, k): a legal selection of the case, with its holes."""
    held = cache.written(inputs)
    exact = logits.exact_logits(inputs, logits.rows_of(inputs, held))
    made = np.full((inputs.case.rows, inputs.case.k), selection.NONE, np.int32)
    draw = np.random.default_rng([inputs.case.seed, 9])
    for row, visible in enumerate(inputs.visible):
        order = np.argsort(-exact[row, :visible], kind="stable")[:inputs.case.k]
        made[row, :order.size] = draw.permutation(order)
    return selection.with_holes(inputs, made)


def listed(inputs: Inputs) -> Lists:
    """Lists for an attention kernel, from `selected`."""
    return lists.exact(inputs, selected(inputs))


def padded_query(inputs: Inputs) -> torch.Tensor:
    """(rows + pad, qheads, width) bf16; queries of padding are ones."""
    shape = inputs.case.pad, *inputs.query.shape[1:]
    return bf16(np.concatenate([inputs.query, np.full(shape, 0x3F80, np.uint16)]))


def of_attention(inputs: Inputs, made: Lists, out: torch.Tensor, **how: object) -> list[Finding]:
    """out: (rows + pad, heads, value width at least)."""
    found = back(out)[:, :, :inputs.case.value_width]
    return attention.check_attention(inputs, made, found, **how)  # type: ignore[arg-type]


def sink_of(inputs: Inputs) -> np.ndarray:
    """(qheads,) float32, as the judge draws it; with an even seed every fourth head has none."""
    made = np.random.default_rng([inputs.case.seed, 8]).standard_normal(inputs.case.qheads)
    if inputs.case.seed % 2 == 0:
        made[::4] = -np.inf
    return made.astype(np.float32)


def parts(inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a merge of ranks is handed: outputs (ranks, rows + pad, heads, values), numbers of bf16,
    and lse (ranks, rows + pad, heads); and the selection they are of."""
    picked = selected(inputs)
    made = [ranks.exact_part(inputs, picked, rank) for rank in range(inputs.case.dcp)]
    return np.stack([one[0] for one in made]), np.stack([one[1] for one in made]), picked


def as_bf16(values: np.ndarray) -> torch.Tensor:
    """float32 numbers of bf16, on the device."""
    return bf16(to_bf16(values))


def summed(corrected: list[np.ndarray]) -> np.ndarray:
    """What a collective makes of all ranks' parts: their sum in bf16, one after the other."""
    total = corrected[0]
    for one in corrected[1:]:
        total = rounded_bf16(total + one)
    return total
