"""An engine of our own: builds lists with loops, plans with our core, attends over its own lists.

`fake_engine:NAME` is an adapter; a NAME other than Sound plants one defect.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import time

import mla_testbed
import numpy as np
from mla_testbed import PlanBuffers
from mla_testbed.bundle import PLAN_ARRAYS, Bundle
from mla_testbed.engines import PADDING, Built, EngineStep, Machine
from mla_testbed.engines.decode.result import SCALE
from mla_testbed.engines.line import CaseLine
from mla_testbed.planning import POISON

PLANTS = {
    "Sound", "ShortIndices", "WrongPage", "KeysOff", "RowsOff", "ArangeRows", "LastPage",
    "LostRequest", "StalePlan", "WrongHeads", "LateSplit", "StickyRows", "MovedAtReplay",
    "PaddingPage", "PaddingKeys", "NoScale", "WrongShape", "Raises", "RaisesInForward", "Dies",
    "Hangs", "NotHere", "SmallBuffers", "RefusesAll", "Unplanned", "LateStart", "PlansOnce",
    "NanResult", "TwoDefects", "NoAttention",
}


def __getattr__(name: str):
    if name not in PLANTS:
        raise AttributeError(name)
    return lambda machine: FakeEngine(machine, name)


class FakeEngine:
    """Requests in the order of the step; graph padding has one row and no keys."""

    name, version, aiter = "fake", "1.0", "none"
    sources = (__file__,)

    def __init__(self, machine: Machine, plant: str) -> None:
        if plant == "NotHere":
            raise ImportError("the fake engine is not installed: it is planted to be missing")
        self.machine, self.plant = machine, plant
        self.attends = plant != "NoAttention"
        self.aiter = "left out" if machine.without_aiter else "none"
        self._lists: dict[str, np.ndarray] = {}
        self._buffers: PlanBuffers | None = None

    def adapt(self, line: CaseLine) -> CaseLine:
        steps = [[(min(rows, 4), max(keys, 4)) for rows, keys in line.requests(number)]
                 for number in range(len(line.steps))]
        kv = line["dtype"].partition("/")[2]
        return CaseLine.parse(str(line.with_requests(steps).with_fields(
            heads="16", dtype=f"{kv}/{kv}")))

    def refuses(self, step: EngineStep) -> str | None:
        return "the fake engine takes nothing" if self.plant == "RefusesAll" else None

    def start(self, steps) -> None:
        requests = max(step.requests + step.pad for step in steps)
        keys = max(sum(step.seq_lens) for step in steps)
        room = keys // 2 if self.plant == "ShortIndices" else keys
        self._lists = {"seqlens_qo_indptr": np.zeros(requests + 1, np.int32),
                       "seqlens_kv_indptr": np.zeros(requests + 1, np.int32),
                       "kv_last_page_lens": np.ones(requests, np.int32),
                       "kv_indices": np.full(room + 64, POISON, np.int32)}
        rows = max(max(step.query_lens) for step in steps)
        first = steps[0]
        sizes = mla_testbed.decode_sizes(
            1 if self.plant == "SmallBuffers" else requests, rows, first.heads, first.dtype_q,
            first.dtype_kv, arch=first.arch, compute_units=first.compute_units)
        self._buffers = mla_testbed.allocate(sizes)
        self._first, self._longest = True, 0

    def build(self, step: EngineStep) -> Built:
        return self._built(step, step.requests)

    def capture(self, step: EngineStep) -> Built | None:
        return self._built(step, step.requests + step.pad)

    def replay(self, step: EngineStep, captured: Built) -> Built:
        if self.plant == "MovedAtReplay":
            self._lists = {name: array.copy() for name, array in self._lists.items()}
        built = self._built(step, len(captured.requests))
        if self.plant != "MovedAtReplay":
            return built
        # What the graph reads are the lists of the capture.
        return dataclasses.replace(built, bundle=captured.bundle)

    def _built(self, step: EngineStep, count: int) -> Built:
        self._misbehave()
        if self.plant == "TwoDefects" and max(step.query_lens) > 1:
            raise AssertionError("planted: several rows")
        self._fill(step, count)
        live = {name: array[:count + (1 if name.endswith("indptr") else 0)]
                for name, array in self._lists.items() if name != "kv_indices"}
        requests = tuple(i if i < step.requests else PADDING for i in range(count))
        if self.plant == "LostRequest":
            requests = (requests[0], *requests[:-1])
        scalars = self._scalars(step)
        arrays = {name: array.copy() for name, array in live.items()}
        arrays["kv_indices"] = self._lists["kv_indices"].copy()
        if self.plant == "LateStart":
            arrays["seqlens_kv_indptr"][0] = 1
        unplanned = self.plant == "Unplanned" or (
            self.plant == "PlansOnce" and not self._first)
        if not unplanned:
            self._plan(step, live, scalars)
            for parameter, key in PLAN_ARRAYS.items():
                arrays[key] = getattr(self._buffers, parameter).reshape(-1).copy()
        return Built(Bundle({"name": step.case, **scalars}, arrays), requests, None)

    def _misbehave(self) -> None:
        if self.plant == "Raises":
            raise AssertionError("planted: 7 is not 8")
        if self.plant == "Dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.plant == "Hangs":
            time.sleep(3600)

    def _fill(self, step: EngineStep, count: int) -> None:
        qo, kv = self._lists["seqlens_qo_indptr"], self._lists["seqlens_kv_indptr"]
        indices = self._lists["kv_indices"]
        for row in range(count):
            live = row < step.requests
            rows = step.query_lens[row] if live else 1
            slots = step.token_slots(row) if live else np.zeros(0, np.int64)
            if not live and self.plant == "PaddingPage":
                slots = np.full(1, step.pool_pages)
            if not live and self.plant == "PaddingKeys":
                rows, slots = 3, np.zeros(2, np.int64)
            if self.plant == "KeysOff" and live and row == step.requests - 1:
                slots = slots[:-1]
            if self.plant == "RowsOff" and rows > 1:
                rows -= 1
            if self.plant == "ArangeRows":
                rows = 1
            qo[row + 1] = qo[row] + rows
            kv[row + 1] = kv[row] + slots.size
            room = indices[kv[row]:kv[row + 1]]
            room[:] = slots[:room.size]
        if self.plant == "WrongPage":
            indices[kv[step.requests] - 1] ^= 1
        if self.plant in ("LastPage", "TwoDefects"):
            self._lists["kv_last_page_lens"][0] = 2
        if self.plant == "ShortIndices":
            self._lists["kv_indices"] = indices[:max(1, int(kv[step.requests]) - 1)]

    def _scalars(self, step: EngineStep) -> dict[str, object]:
        heads = step.heads * 2 if self.plant == "WrongHeads" and step.heads == 16 else step.heads
        longest = max(step.query_lens)
        if self.plant == "StickyRows":
            longest = self._longest = max(self._longest, longest)
        uniform = len(set(step.query_lens)) == 1 and not step.pad
        return {"arch": step.arch, "num_cu": step.compute_units, "num_heads_per_head_k": heads,
                "num_heads_k": 1, "is_causal": True, "page_size": 1, "kv_granularity": 16,
                "max_seqlen_qo": longest,
                "uni_seqlen_qo": step.query_lens[0] if uniform else -1, "fast_mode": True,
                "dtype_q": step.dtype_q, "dtype_kv": step.dtype_kv}

    def _plan(self, step: EngineStep, live: dict[str, np.ndarray], scalars: dict) -> None:
        if self.plant == "StalePlan" and not self._first:
            return
        self._first = False
        mla_testbed.plan_decode(
            live["seqlens_qo_indptr"], live["seqlens_kv_indptr"], live["kv_last_page_lens"],
            step.heads, 1, True, self._buffers, arch=step.arch, compute_units=step.compute_units,
            max_seqlen_qo=scalars["max_seqlen_qo"], uni_seqlen_qo=scalars["uni_seqlen_qo"],
            dtype_q=step.dtype_q, dtype_kv=step.dtype_kv, as_aiter=True)
        if self.plant == "LateSplit":
            self._buffers.work_info_set[0, 5] -= 1

    def attend(self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray):
        if self.plant == "RaisesInForward":
            raise RuntimeError("planted: the forward fails\nsecond line")
        arrays = built.bundle.arrays
        fp8 = step.dtype_kv == "fp8"
        scale = np.array([1.0 if self.plant == "NoScale" else step.kv_scale], np.float32)
        count = sum(request != PADDING for request in built.requests)
        out = mla_testbed.reference(
            q, cache.reshape(-1, 1, 1, 576), arrays["seqlens_qo_indptr"][:count + 1],
            arrays["seqlens_kv_indptr"][:count + 1], arrays["kv_indices"],
            arrays["kv_last_page_lens"][:count], SCALE,
            q_scale=np.array([step.q_scale], np.float32) if fp8 else None,
            kv_scale=scale if fp8 else None, arch=step.arch).out
        if self.plant == "NanResult":
            out[-1, -1, -1] = np.nan
        return out[:-1] if self.plant == "WrongShape" else out.astype(np.float32)
