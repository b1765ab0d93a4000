"""An engine of our own for sparse steps: lists of selected keys with loops, plans of our core.

`fake_sparse:NAME` is an adapter; a NAME other than Sound plants one defect.
"""

from __future__ import annotations

import dataclasses

import mla_testbed
import numpy as np
from mla_testbed.bundle import PLAN_ARRAYS, Bundle
from mla_testbed.engines import PADDING, Built, Machine
from mla_testbed.engines.decode.result import SCALE
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.sparse import SparseStep
from mla_testbed.planning import POISON

#: Plant -> property that catches it.
PLANTS = {
    "OtherRow": "P26", "LostRow": "P26", "FirstElsewhere": "P26", "Sums": "P04", "Start": "P04",
    "AllKeys": "P04", "WideSums": "P04", "Rows": "P04", "LastPage": "P04", "PaddingKey": "P04",
    "Room": "P06", "PastTheEnd": "P06", "Unwritten": "P01", "OtherRequest": "P01",
    "NoRequest": "P01", "Twice": "P01", "NotSelected": "P01", "OutsideCache": "P01",
    "Negative": "P01", "OneLayer": "P01", "PastCausal": "P13", "StalePlan": "P05",
    "LateSplit": "P05", "Sticky": "P03", "NoScale": "P05", "NanResult": "P05", "Raises": "P28",
    "OldAtReplay": "P04",
}


def __getattr__(name: str):
    if name != "Sound" and name not in PLANTS:
        raise AttributeError(name)
    return lambda machine: FakeSparse(machine, name)


class FakeSparse:
    """Rows in the order of the step; a row of padding has no keys."""

    name, version, aiter, attends = "fake_sparse", "1.0", "none", True
    sources = (__file__,)

    def __init__(self, machine: Machine, plant: str) -> None:
        self.machine, self.plant = machine, plant

    def adapt(self, line: CaseLine) -> CaseLine:
        kv = line["dtype"].partition("/")[2]
        return CaseLine.parse(str(line.with_fields(heads="16", dtype=f"{kv}/{kv}")))

    def refuses(self, step: SparseStep) -> str | None:
        return None

    def start(self, steps) -> None:
        first = steps[0]
        self._rows = max(self._captured(step) for step in steps)
        self._buffers = mla_testbed.allocate(mla_testbed.decode_sizes(
            self._rows, 1, first.heads, first.dtype_q, first.dtype_kv, is_sparse=True,
            arch=first.arch, compute_units=first.compute_units))
        self._built, self._most = 0, 0

    def _captured(self, step: SparseStep) -> int:
        return sum(step.query_lens) + step.pad

    def build(self, step: SparseStep) -> Built:
        return self._made(step, sum(step.query_lens))

    def capture(self, step: SparseStep) -> Built | None:
        return self._made(step, self._captured(step))

    def replay(self, step: SparseStep, captured: Built) -> Built:
        built = self._made(step, max(len(captured.requests), sum(step.query_lens)))
        return dataclasses.replace(built, bundle=captured.bundle) if (
            self.plant == "OldAtReplay") else built

    def _made(self, step: SparseStep, rows: int) -> Built:
        if self.plant == "Raises":
            raise AssertionError("planted")
        self._built += 1
        lists = _lists(step, rows, self._rows * step.topk + 1)
        owners = [int(owner) for owner in step.owners]
        scalars = self._scalars(step)
        arrays = {name: array.copy() for name, array in lists.items()}
        if self.plant != "StalePlan" or self._built == 1:
            mla_testbed.plan_decode(
                lists["seqlens_qo_indptr"], lists["seqlens_kv_indptr"],
                lists["kv_last_page_lens"], step.heads, 1, True, self._buffers, arch=step.arch,
                compute_units=step.compute_units, max_seqlen_qo=1, uni_seqlen_qo=1,
                dtype_q=step.dtype_q, dtype_kv=step.dtype_kv, as_aiter=True)
        if self.plant == "LateSplit":
            self._buffers.work_info_set[0, 5] -= 1
        for parameter, key in PLAN_ARRAYS.items():
            arrays[key] = getattr(self._buffers, parameter).reshape(-1).copy()
        requests = (*owners, *[PADDING] * (rows - len(owners)))
        built = Built(Bundle({"name": step.case, **scalars}, arrays), requests, None)
        return DAMAGES.get(self.plant, _none)(step, built)

    def _scalars(self, step: SparseStep) -> dict[str, object]:
        self._most = max(self._most, int(step.counts.max()))
        split = self._most if self.plant == "Sticky" else -1
        return {"arch": step.arch, "num_cu": step.compute_units, "num_heads_per_head_k": step.heads,
                "num_heads_k": 1, "is_causal": True, "page_size": 1, "kv_granularity": 16,
                "max_seqlen_qo": 1, "uni_seqlen_qo": 1, "fast_mode": True,
                "max_split_per_batch": split, "dtype_q": step.dtype_q, "dtype_kv": step.dtype_kv}

    def attend(self, step: SparseStep, built: Built, q: np.ndarray, cache: np.ndarray):
        arrays, rows, fp8 = built.bundle.arrays, q.shape[0], step.dtype_kv == "fp8"
        scale = np.array([1.0 if self.plant == "NoScale" else step.kv_scale], np.float32)
        wide = cache.reshape(step.pool_blocks, 1, step.block_size, -1).repeat(step.layers, axis=1)
        out = mla_testbed.reference(
            q, wide.reshape(-1, 1, 1, 576), arrays["seqlens_qo_indptr"][:rows + 1],
            arrays["seqlens_kv_indptr"][:rows + 1], arrays["kv_indices"],
            arrays["kv_last_page_lens"][:rows], SCALE,
            q_scale=np.array([step.q_scale], np.float32) if fp8 else None,
            kv_scale=scale if fp8 else None, arch=step.arch).out
        if self.plant == "NanResult":
            out[-1, -1, -1] = np.nan
        return out.astype(np.float32)


def _lists(step: SparseStep, rows: int, room: int) -> dict[str, np.ndarray]:
    indices, sums = np.full(room, POISON, np.int32), [0]
    for row in range(rows):
        keys = np.zeros(0, np.int32)
        if row < len(step.owners):
            keys = step.cache_rows(int(step.owners[row]))[step.selected[row]]
        indices[sums[-1]:sums[-1] + keys.size] = keys
        sums.append(sums[-1] + keys.size)
    return {"seqlens_qo_indptr": np.arange(rows + 1, dtype=np.int32),
            "seqlens_kv_indptr": np.array(sums, np.int32),
            "kv_last_page_lens": np.ones(rows, np.int32), "kv_indices": indices}


def _none(step: SparseStep, built: Built) -> Built:
    return built


def _requests(change):
    return lambda step, built: dataclasses.replace(
        built, requests=change(built.requests))


def _list(name: str, change):
    """A damage to one list."""
    def damage(step: SparseStep, built: Built) -> Built:
        array = built.bundle.arrays[name].copy()
        changed = change(step, array)
        arrays = {**built.bundle.arrays, name: array if changed is None else changed}
        return dataclasses.replace(built, bundle=Bundle(built.bundle.scalars, arrays))
    return damage


def _last_key(value):
    """Another value for the first key of the last live row."""
    def change(step: SparseStep, indices: np.ndarray) -> None:
        at = int(step.counts.sum() - step.counts[-1])
        indices[at] = value(step, indices[at:at + step.counts[-1]])
    return _list("kv_indices", change)


def _past(step: SparseStep, indices: np.ndarray) -> None:
    """The first row of the last request reads the key of its next row."""
    row = len(step.owners) - step.query_lens[-1]
    at = int(step.counts[:row].sum())
    places = step.cache_rows(step.requests - 1)
    if step.query_lens[-1] > 1:
        indices[at] = places[step.visible[row]]


def _unselected(step: SparseStep, keys: np.ndarray) -> int:
    others = np.setdiff1d(np.arange(step.visible[-1]), step.selected[-1])
    return step.cache_rows(step.requests - 1)[others[0]] if others.size else keys[0]


def _one_layer(step: SparseStep, indices: np.ndarray) -> None:
    live = indices[:step.counts.sum()]
    live[:] = live // step.block_stride * step.block_size + live % step.block_stride


def _padding_key(step: SparseStep, sums: np.ndarray) -> None:
    sums[len(step.owners) + 1:] += 1


DAMAGES = {
    "OtherRow": _requests(lambda r: (r[0], *r[:-1]) if len(set(r)) > 1 else r),
    "LostRow": _requests(lambda r: (*r[:-1], PADDING)),
    "FirstElsewhere": lambda step, built: dataclasses.replace(built, elsewhere=(0,)),
    "Sums": _list("seqlens_kv_indptr", lambda step, a: np.append(a[:1], a[1:] - 1)),
    "Start": _list("seqlens_kv_indptr", lambda step, a: a + 1),
    "AllKeys": _list("seqlens_kv_indptr", lambda step, a: np.append(
        0, np.cumsum([*step.visible, *[0] * (a.size - 1 - step.visible.size)])).astype(np.int32)),
    "WideSums": _list("seqlens_kv_indptr", lambda step, a: a.astype(np.int64)),
    "Rows": _list("seqlens_qo_indptr", lambda step, a: a * 2),
    "LastPage": _list("kv_last_page_lens", lambda step, a: a * 0),
    "PaddingKey": _list("seqlens_kv_indptr", _padding_key),
    "Room": _list("kv_indices", lambda step, a: a[:step.counts.sum() - 1]),
    "PastTheEnd": _list("kv_indices", lambda step, a: a.__setitem__(step.counts.sum(), 0)),
    "Unwritten": _last_key(lambda step, keys: POISON),
    "OtherRequest": _last_key(lambda step, keys: step.cache_rows(0)[0]),
    "NoRequest": _last_key(lambda step, keys: 0),
    "Twice": _last_key(lambda step, keys: keys[-1]),
    "NotSelected": _last_key(_unselected),
    "OutsideCache": _last_key(lambda step, keys: step.pool_rows),
    "Negative": _last_key(lambda step, keys: -1),
    "OneLayer": _list("kv_indices", _one_layer),
    "PastCausal": _list("kv_indices", _past),
}
