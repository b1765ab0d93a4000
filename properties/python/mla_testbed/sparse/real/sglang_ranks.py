"""SGLang's kernels of ranks that share a context, from a source tree: the writer of rows of 656
bytes, and both merges."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import numpy as np
import torch

from .. import ranks, storing
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..selection import NONE
from . import calls, sglang_rows
from .device import back, bf16, put
from .kernel import Kernel, need
from .sources import functions

_DCP = "sglang/kernels/ops/attention/dcp_kernels.py"
_OF_DCP = ("_correct_attn_cp_out_kernel", "CPTritonContext", "correct_attn_out",
           "_dcp_lse_combine_kernel", "dcp_lse_combine_triton")


def kernels(root: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    dcp = functools.cache(lambda: functions(root, _DCP, _OF_DCP))
    store = functools.cache(functools.partial(sglang_rows.pack, root))
    ds = {"cache": "ds", "gap": 0, "fp8": "ocp", "scale": "f32", "width": (512, 64)}
    made = []
    for count in (2, 4):
        of_all = {"dcp": count, "width": (512, 64)}
        made += [
            Kernel(f"set_mla_kv_buffer_kernel ({count} ranks)", "store",
                   lambda inputs, arch: _store(store(), inputs), {**ds, "dcp": count}, _deals),
            Kernel(f"correct_attn_out ({count} ranks)", "merge",
                   lambda inputs, arch: _correct(dcp(), inputs), of_all, _joins),
            Kernel(f"dcp_lse_combine_triton ({count} ranks)", "merge",
                   lambda inputs, arch: _combine(dcp(), inputs), of_all, _joins),
        ]
    return tuple(made)


def _deals(case: Case) -> None:
    need(case.dcp > 1, "several ranks share a context")
    need(case.interleave == 1, "positions are dealt one by one")


def _joins(case: Case) -> None:
    need(case.dcp > 1, "several ranks share a context")
    need(case.value_width & (case.value_width - 1) == 0, "values of a power of two of elements")


def _store(module: Any, inputs: Inputs) -> list[Finding]:
    """Every rank gets all tokens, with their places among those of all ranks: place % ranks is the
    rank, place // ranks the slot."""
    found = []
    for rank in range(inputs.case.dcp):
        own = ranks.of_rank(inputs, rank)
        found += storing.check_store(own, functools.partial(_kept, module, inputs, rank), floor=0)
    return found


def _kept(module: Any, inputs: Inputs, rank: int, own: Inputs, mapping: np.ndarray,
          held: np.ndarray) -> None:
    slots = inputs.slot_mapping
    if mapping is not own.slot_mapping:  # padding alone
        slots = np.full_like(slots, NONE)
    cache = put(held)
    sglang_rows.set_rows(module, inputs.case, bf16(storing.tokens_of(inputs, slots)), cache,
                         put(places_of_all(inputs, slots)), (rank, inputs.case.dcp))
    held[:] = back(cache)


def places_of_all(inputs: Inputs, slots: np.ndarray) -> np.ndarray:
    """(tokens,) int64: slots of one device, as places among those of all ranks."""
    case = inputs.case
    made = np.full(inputs.blocks * case.block, NONE, np.int64)
    for request in range(len(case.requests)):
        at = np.arange(int(inputs.lengths[request]))
        table = inputs.tables[request, ::case.dcp].astype(np.int64)
        wide = case.block * case.dcp
        made[inputs.slots(request)] = table[at // wide] * wide + at % wide
    return np.where(slots == NONE, NONE, made[slots])


def _correct(module: Any, inputs: Inputs) -> list[Finding]:
    """Each rank corrects its own part, and a collective sums them. A rank without keys has 0."""
    out, lse, picked = calls.parts(inputs)
    corrected = []
    for rank in range(inputs.case.dcp):
        part = calls.as_bf16(out[rank])
        by_head = torch.empty_like(part.transpose(0, 1), memory_format=torch.contiguous_format)
        module.correct_attn_out(part, put(lse), rank, None, by_head, is_lse_base_on_e=True)
        corrected.append(back(by_head).transpose(1, 0, 2))
    return ranks.check_joined(inputs, picked, out, lse, calls.summed(corrected))


def _combine(module: Any, inputs: Inputs) -> list[Finding]:
    """All parts, after an exchange, in one launch."""
    out, lse, picked = calls.parts(inputs)
    made, _ = module.dcp_lse_combine_triton(calls.as_bf16(out), put(lse), is_lse_base_on_e=True)
    return ranks.check_joined(inputs, picked, out, lse, back(made))
