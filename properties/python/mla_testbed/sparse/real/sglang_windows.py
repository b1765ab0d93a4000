"""SGLang's window lists of DeepSeek-V4, from a source tree."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import numpy as np

from .. import windows
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..selection import NONE
from .device import back, put
from .kernel import Kernel
from .sources import functions

_DECODE = "sglang/kernels/ops/attention/dsv4/unified_kv_kernels/paged_decode_indices.py"
_CAUSAL = "sglang/kernels/ops/attention/dsv4/attn_metadata_kernels.py"
_COMPRESSED = "sglang/kernels/ops/attention/dsv4/metadata_kernel.py"
#: Entries of a row of window indices are a multiple of these.
_ALIGNED = 64


def kernels(root: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    decode = functools.cache(lambda: functions(root, _DECODE, None))
    causal = functools.cache(lambda: functions(root, _CAUSAL, (
        "_causal_swa_page_indices_kernel", "build_causal_swa_page_indices_triton")))
    compressed = functools.cache(lambda: functions(root, _COMPRESSED, (
        "_fill_all_compressed_indices_kernel", "fill_all_compressed_indices")))
    return (
        Kernel("write_v4_paged_decode_indices", "window",
               lambda inputs, arch: _ring(decode(), inputs), {"window": 128}),
        Kernel("build_causal_swa_page_indices_triton", "window",
               lambda inputs, arch: _causal(causal(), inputs), {"window": 128}),
        Kernel("fill_all_compressed_indices", "window",
               lambda inputs, arch: _all(compressed(), inputs),
               {"cache": "v4", "width": (448, 64), "block": 64, "shared": 0, "ratio": 4}),
    )


def _ring(module: Any, inputs: Inputs) -> list[Finding]:
    """Each request has a ring of the window and the rows of a step; a slot of a ring has the last
    position that was written to it. The lists with compressed keys begin with the same slots."""
    case, count = inputs.case, inputs.case.rows + inputs.case.pad
    ring = case.window + max(rows for rows, _ in case.requests) - 1
    own = np.array([windows.window_of(inputs, row).size for row in range(case.rows)])
    more = np.arange(1, case.rows + 1), 2 * np.arange(1, case.rows + 1)
    sums = [np.cumsum([0, *own, *[0] * case.pad]),
            *(np.cumsum([0, *(own + extra), *[0] * case.pad]) for extra in more)]
    out = [put(np.full(int(one[-1]) + 1, -7, np.int32)) for one in sums]
    states = np.random.default_rng([case.seed, 14]).permutation(len(inputs.lengths))
    owners = np.concatenate([inputs.owners, np.full(case.pad, -1)]).astype(np.int32)
    at = np.concatenate([inputs.visible - 1, np.zeros(case.pad, int)]).astype(np.int32)
    swa, csa, hca = (put(one.astype(np.int32)) for one in sums)
    module.write_v4_paged_decode_indices(
        state_slot_per_seq=put(states.astype(np.int32)), batch_id_per_token=put(owners),
        positions=put(at), swa_indptr=swa, csa_indptr=csa, hca_indptr=hca, swa_indices=out[0],
        csa_indices=out[1], hca_indices=out[2], T=count, win=case.window, ring_stride=ring)
    flat = [back(one) for one in out]
    rows = []
    for row, request in enumerate(inputs.owners):
        lists = [one[begin[row]:begin[row] + own[row]]
                 for one, begin in zip(flat, sums, strict=True)]
        if not all(np.array_equal(one, lists[0]) for one in lists):
            return [Finding("SP-21", windows.STAGE, f"row {row} has different windows in its "
                            "three lists")]
        length, place = int(inputs.lengths[request]), lists[0] - int(states[request]) * ring
        foreign = (place < 0) | (place >= ring)
        if foreign.any():
            return [Finding("SP-21", windows.STAGE, f"row {row} has slot {lists[0][foreign][0]}, "
                            "which is not of its request's ring")]
        held = length - 1 - (length - 1 - place) % ring
        rows.append(inputs.slots(int(request))[held])
    if any((one[-1] != -7) for one in flat):  # noqa: PLR2004
        return [Finding("SP-21", windows.STAGE, "the entry after the last row was written")]
    padding = [np.zeros(0, np.int64)] * case.pad
    return windows.check_windows(inputs, Lists.of_rows([*rows, *padding]))


def _causal(module: Any, inputs: Inputs) -> list[Finding]:
    """Slots of the whole cache are moved to those of the window's pool, which has them in another
    order."""
    case, slots = inputs.case, inputs.blocks * inputs.case.block
    moved = np.random.default_rng([case.seed, 15]).permutation(slots)
    tokens = np.full((len(inputs.lengths), int(inputs.lengths.max())), slots - 1, np.int32)
    for request, length in enumerate(inputs.lengths):
        tokens[request, :length] = inputs.slots(request)
    found = back(module.build_causal_swa_page_indices_triton(
        req_to_token=put(tokens), full_to_swa_mapping=put(moved.astype(np.int64)),
        req_pool_indices_repeated=put(inputs.owners.astype(np.int64)),
        seq_lens_casual=put(inputs.visible.astype(np.int32)), swa_window=case.window,
        page_index_aligned_size=_ALIGNED))
    whole = np.argsort(moved)
    rows = [whole[row[row != NONE]] for row in found]
    return windows.check_windows(inputs, Lists.of_rows(
        [*rows, *[np.zeros(0, np.int64)] * case.pad]))


def _all(module: Any, inputs: Inputs) -> list[Finding]:
    """Every compressed key that a row sees; a page of `block` of them has as many times the
    ratio tokens."""
    case, right = inputs.case, windows.all_compressed(inputs)
    counts = (right != NONE).sum(axis=1).astype(np.int32)
    out = put(np.full((case.rows, right.shape[1] + 3), -7, np.int32))
    module.fill_all_compressed_indices(
        put(inputs.tables[inputs.owners]), put(counts), out, compress_ratio=case.ratio,
        page_size=case.block * case.ratio)
    found = back(out)
    if (found[np.arange(found.shape[1]) >= counts[:, None]] != NONE).any():
        return [Finding("SP-21", windows.STAGE, "a row has a slot after its compressed keys")]
    rows = [found[row, :count] for row, count in enumerate(counts)]
    return windows.check_compressed(
        inputs, right, Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * case.pad]))
