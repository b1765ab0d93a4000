"""EngineStep: what a serving engine is asked to do in one step, taken from a case."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from ..errors import UsageError
from .line import CaseLine
from .pool import block_tables

Step = TypeVar("Step", bound="EngineStep")


@dataclasses.dataclass(frozen=True)
class EngineStep:
    """One step of an engine: its batch, its paged cache, and the machine below.

    Attributes:
        case: the canonical case, all its steps.
        number: which step of the case, from 0.
        arch, compute_units: "gfx942" or "gfx950"; compute units of the device.
        heads: query heads of the model on this rank.
        block_size: tokens of a cache block, the engine's granularity.
        page_size: tokens of a page, the kernel's granularity, for engines that let one choose.
        dtype_q, dtype_kv: "bf16" or "fp8"; query as the kernel gets it, and cache.
        causal: whether a row sees only the keys up to its own.
        query_lens: new rows of each live request, 1 or more.
        seq_lens: keys of each live request, its new rows included.
        block_tables: physical block ids of each request, ceil(keys / block_size) of them.
        pool_blocks: blocks of the cache; block ids are below it.
        pad: graph padding requests after the live ones.
        q_scale, kv_scale: scales of an fp8 query and an fp8 cache; 1 for bf16.
        data_seed: seed of the tensors.
    """

    case: str
    number: int
    arch: str
    compute_units: int
    heads: int
    block_size: int
    page_size: int
    dtype_q: str
    dtype_kv: str
    causal: bool
    query_lens: tuple[int, ...]
    seq_lens: tuple[int, ...]
    block_tables: tuple[tuple[int, ...], ...]
    pool_blocks: int
    pad: int
    q_scale: float
    kv_scale: float
    data_seed: int

    @property
    def coin(self) -> int:
        """0 or 1, of the seed: what decides where a case leaves a choice to the engine."""
        return self.data_seed % 2

    @property
    def requests(self) -> int:
        """Live requests."""
        return len(self.query_lens)

    @property
    def pool_pages(self) -> int:
        """Pages of the cache; page ids are below it."""
        return self.pool_blocks * self.block_size // self.page_size

    @property
    def block_stride(self) -> int:
        """Rows of the cache from one block to the next."""
        return self.block_size

    def alone(self, order: Iterable[int], **fields: str) -> str:
        """A case of this step alone.

        Args:
            order: its requests. fields: other values.
        """
        line = CaseLine.parse(self.case).with_requests(
            [[(self.query_lens[i], self.seq_lens[i]) for i in order]])
        return str(line.with_fields(**fields))

    def token_slots(self, request: int) -> np.ndarray:
        """Where the keys of a request lie: (keys,) int64 slots of the cache, one slot a token."""
        blocks = np.array(self.block_tables[request], np.int64)
        slots = blocks[:, None] * self.block_size + np.arange(self.block_size)
        return slots.reshape(-1)[:self.seq_lens[request]]

    @property
    def owned_slots(self) -> np.ndarray:
        """(slots,) int64: where any request has a key, in ascending order."""
        return np.unique(np.concatenate([self.token_slots(i) for i in range(self.requests)]))

    def context(self, request: int) -> int:
        """Keys that a request had before this step: its cached prefix."""
        return self.seq_lens[request] - self.query_lens[request]

    def new_slots(self, request: int) -> np.ndarray:
        """Where the new rows of a request are cached: (rows,) int64 slots."""
        return self.token_slots(request)[self.context(request):]

    def page_ids(self, request: int, page_size: int) -> np.ndarray:
        """Physical pages of a request, in order of its keys: (pages,) int64.

        Raises:
            UsageError: a block holds no whole number of pages.
        """
        if self.block_size % page_size:
            raise UsageError(f"pages of {page_size} tokens in blocks of {self.block_size}; "
                             "expected a divisor")
        return self.token_slots(request)[::page_size] // page_size

    def ordered(self: Step, keys: Iterable[int]) -> Step:
        """The same step with its requests in another order.

        Args:
            keys: position -> request of this step; each request once.
        """
        order = tuple(keys)
        if sorted(order) != list(range(self.requests)):
            raise UsageError(f"order {order} names not each of {self.requests} requests once")
        return dataclasses.replace(
            self, query_lens=tuple(self.query_lens[i] for i in order),
            seq_lens=tuple(self.seq_lens[i] for i in order),
            block_tables=tuple(self.block_tables[i] for i in order))


def steps_of(case: str) -> tuple[EngineStep, ...]:
    """The steps of a case, in the order in which one engine runs them.

    Args:
        case: of kind decode. Requests without rows are left out, because no engine schedules them.

    Raises:
        UsageError: no case; a request with fewer keys than rows; a step without rows.
    """
    line = CaseLine.parse(case)
    return tuple(_step(line, number) for number in range(len(line.steps)))


def _step(line: CaseLine, number: int) -> EngineStep:
    live = [(rows, keys) for rows, keys in line.requests(number) if rows > 0]
    if not live:
        raise UsageError(f"step {number} of '{line}' has no request with rows")
    for index, (rows, keys) in enumerate(live):
        if keys < rows:
            raise UsageError(f"request {index} of '{line}' has {keys} keys for {rows} rows; "
                             "an engine's lengths include the new rows")
    block = int(line["block"])
    counts = [-(-keys // block) for _, keys in live]
    tables, pool = block_tables(line["layout"], counts, int(line["origin"]))
    dtype_q, dtype_kv = line["dtype"].split("/")
    q_scale, kv_scale = (float(s) for s in line["scale"].split("/"))
    return EngineStep(
        case=str(line), number=number, arch=line["arch"], compute_units=int(line["cu"]),
        heads=int(line["heads"]), block_size=block, page_size=int(line["page"]), dtype_q=dtype_q,
        dtype_kv=dtype_kv, causal=line["causal"] == "1",
        query_lens=tuple(rows for rows, _ in live), seq_lens=tuple(keys for _, keys in live),
        block_tables=tables, pool_blocks=pool, pad=int(line["pad"]),
        q_scale=q_scale if dtype_q == "fp8" else 1.0,
        kv_scale=kv_scale if dtype_kv == "fp8" else 1.0,
        data_seed=int(line["data"].rpartition(".")[2]) + number)
