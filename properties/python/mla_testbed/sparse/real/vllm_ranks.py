"""vLLM's kernels of ranks that share a context, from a source tree: lists of a rank, and the merge.

vLLM's sparse backend for ROCm says supports_dcp = False: other backends call these.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Any

import numpy as np

from .. import ranks
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..selection import NONE
from . import calls, vllm_launch
from .device import back, put
from .kernel import Kernel, need
from .sources import functions

_UTILS = "vllm/v1/attention/backends/mla/sparse_utils.py"
_DCP = "vllm/v1/attention/ops/dcp.py"
_OF_UTILS = ("ConvertReqIndexToGlobalIndexKernel", "_remap_tiling",
             "triton_convert_req_index_to_global_index", "triton_filter_and_convert_dcp_index",
             "_CONVERT_REQ_INDEX_TO_GLOBAL_INDEX_KERNEL")
_OF_DCP = ("CorrectAttnCPOutKernel", "CPTritonContext", "correct_attn_out",
           "_CORRECT_ATTN_CP_OUT_KERNEL")


def kernels(tree: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    given = {**vllm_launch.GIVEN, "dataclass": dataclasses.dataclass, "VllmConfig": object}
    utils = functools.cache(lambda: functions(tree, _UTILS, _OF_UTILS, given))
    dcp = functools.cache(lambda: functions(tree, _DCP, _OF_DCP, given))
    two, four = {"k": 128, "dcp": 2}, {"k": 128, "dcp": 4, "block": 16, "interleave": 8}
    wide = {"k": 4224, "dcp": 2, "block": 64, "interleave": 64}  # no power of two: several tiles
    name = "triton_filter_and_convert_dcp_index"
    return (
        *(Kernel(f"{name} ({what})", "convert",
                 lambda inputs, arch: _deal(utils(), inputs), fixed, _deal_takes)
          for what, fixed in (("2 ranks", two), ("4 ranks", four), ("tiles", wide))),
        *(Kernel(f"correct_attn_out ({ranks_of} ranks)", "merge",
                 lambda inputs, arch: _join(dcp(), inputs),
                 {"dcp": ranks_of, "width": (512, 64)}, _join_takes) for ranks_of in (2, 4)),
    )


def _deal_takes(case: Case) -> None:
    need(case.k % 128 == 0, "k is a multiple of 128")
    need(case.dcp > 1, "several ranks share a context")


def _deal(module: Any, inputs: Inputs) -> list[Finding]:
    """Of each rank: compacted with counts, then with -1 where a key is elsewhere."""
    case, picked = inputs.case, calls.selected(inputs)
    pad = np.full((case.pad, case.k), NONE, np.int32)
    owners = np.concatenate([inputs.owners, np.zeros(case.pad, int)]).astype(np.int32)
    table = np.ascontiguousarray(inputs.tables[:, ::case.dcp])
    found = []
    for rank in range(case.dcp):
        for compact in (True, False):
            out, counts = module.triton_filter_and_convert_dcp_index(
                put(owners), put(table), put(np.concatenate([picked, pad])), case.dcp, rank,
                case.interleave, BLOCK_SIZE=case.block, NUM_TOPK_TOKENS=case.k,
                return_valid_counts=True, compact_valid_to_front=compact)
            found += _dealt(inputs, picked, rank, back(out), back(counts), compact=compact)
    return found


def _dealt(inputs: Inputs, picked: np.ndarray, rank: int, out: np.ndarray, counts: np.ndarray, *,
           compact: bool) -> list[Finding]:
    """Compacted: the first ones of a row, and -1 after them. Else: where the key stood."""
    if compact:
        rows = [row[:count] for row, count in zip(out, counts, strict=True)]
        after = [at for at, count in enumerate(counts) if (out[at, count:] != NONE).any()]
        if after:
            return [Finding("SP-24", ranks.DEAL, f"rank {rank} row {after[0]} has a slot after its "
                            f"{counts[after[0]]} keys")]
    else:
        rows = [row[row != NONE] for row in out]
        wrong = [n for n, row in enumerate(rows) if row.size != counts[n]]
        if wrong:
            return [Finding("SP-24", ranks.DEAL, f"rank {rank} row {wrong[0]} counts "
                            f"{counts[wrong[0]]} keys and has {rows[wrong[0]].size}")]
    return ranks.check_dealt(inputs, picked, rank, Lists.of_rows(rows))


def _join_takes(case: Case) -> None:
    need(case.dcp > 1, "several ranks share a context")
    need(case.value_width & (case.value_width - 1) == 0, "values of a power of two of elements")


def _join(module: Any, inputs: Inputs) -> list[Finding]:
    """Each rank corrects its own part, and a collective sums them. The part of a rank without keys
    is NaN."""
    out, lse, picked = calls.parts(inputs)
    out[np.isneginf(lse)] = np.nan
    corrected = []
    for rank in range(inputs.case.dcp):
        part, _ = module.correct_attn_out(calls.as_bf16(out[rank]), put(lse), rank, None)
        corrected.append(back(part))
    return ranks.check_joined(inputs, picked, out, lse, calls.summed(corrected))
