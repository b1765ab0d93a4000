"""Where a run first left what rounding explains: step, layer, request and tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
import torch

from ..decode.built import Built
from ..decode.kind import Decode
from ..findings import Finding
from ..ranks.shard import Shard
from ..sparse import SparseStep
from ..sparse.kind import Sparse
from ..step import EngineStep
from . import indexed
from .prompts import Floor
from .reference import Reference, Traced
from .scenario import Scenario
from .traced import Served, Step

_ORDER = ("index query", "index key", "query", "key", "attention")
LOGITS, SELECTION = "logits", "selection"


@dataclasses.dataclass(frozen=True)
class Fault:
    """One tensor that is further off than rounding explains.

    Attributes:
        step, request, position: where; a position is that of a token in its request.
        layer: number of the layer, None for logits and for tokens.
        tensor: "query", "key", "attention", "logits", "tokens", "positions", "selection", or of an
            indexer "index query" or "index key".
        off, bound: largest difference of an element, and what rounding explains.
        what: of a selection, what is wrong with it.
    """

    step: int
    request: int
    position: int
    layer: int | None
    tensor: str
    off: float
    bound: float
    what: str = ""

    def __str__(self) -> str:
        where = "" if self.layer is None else f"layer {self.layer}, "
        text = f"step {self.step}, {where}request {self.request}, position {self.position}: "
        if self.tensor in ("tokens", "positions"):
            return text + f"the model got other {self.tensor} than the request has"
        if self.what:
            return text + f"the row {self.what}; rounding explains {self.bound:.3g}"
        return text + (f"{self.tensor} is off by {self.off:.3g}; rounding explains "
                       f"{self.bound:.3g}")


class Finder:
    """Compares steps with the reference.

    Args:
        sequences: all tokens of each request: its prompt, and what the engine gave.
        share: which rank of how many that share the heads; queries and attention are its own.
        worst: largest share of its bound that a tensor used, by name.
    """

    def __init__(self, reference: Reference, floor: Floor, sequences: list[list[int]],
                 share: tuple[int, int] = (0, 1)) -> None:
        self._share = share
        self._reference, self._floor, self._sequences = reference, floor, sequences
        self._known: dict[int, tuple[Traced, torch.Tensor]] = {}
        self.worst: dict[str, float] = {}

    def first(self, steps: Iterable[Step]) -> Fault | None:
        """The first fault, in the order in which an engine computes."""
        for step in steps:
            fault = self._of(step)
            if fault is not None:
                return fault
        return None

    def _of(self, step: Step) -> Fault | None:
        if step.tokens is None or step.positions is None:
            return None
        right = {}
        for one in step.served:
            start = int(step.positions[one.first])
            tokens = step.tokens[one.first:one.first + one.rows].tolist()
            positions = step.positions[one.first:one.first + one.rows].tolist()
            whole = self._sequences[one.request]
            if start >= len(whole):  # scheduled before its last token came; nobody reads this
                continue
            if positions != list(range(start, start + one.rows)):
                return Fault(step.number, one.request, start, None, "positions", 0, 0)
            if tokens[0] != whole[start]:
                return Fault(step.number, one.request, start, None, "tokens", 0, 0)
            right[one.request] = (start, *self._expected(one.request, start, tokens))
        compared = [one for one in step.served if one.request in right]
        for layer in sorted(step.layers):
            for name in _ORDER:
                for one in compared:
                    start, traced, _ = right[one.request]
                    found = step.layers[layer].get(name)
                    if found is not None:
                        fault = self._compared(step, one, start, layer, name, found,
                                               traced.layers[layer][name])
                        if fault is not None:
                            return fault
                    found = step.layers[layer].get(SELECTION)
                    if found is not None and name == "query":
                        wrong = self._selected(step, one, start, layer, found,
                                               traced.layers[layer]["index"])
                        if wrong is not None:
                            return wrong
        return self._logits(step, right)

    def _selected(self, step: Step, one: Served, start: int, layer: int, found: torch.Tensor,
                  index: torch.Tensor) -> Fault | None:
        """Each row's selection, against exact logits of the indexer."""
        self.worst[SELECTION] = 0.0
        room = self._floor.of("index")
        for place in range(one.rows):
            at = start + place
            wrong = indexed.fault(index[at, :at + 1], found[one.first + place], room)
            if wrong is not None:
                return Fault(step.number, one.request, at, layer, SELECTION, 0, room, wrong)
        return None

    def _expected(self, request: int, start: int, tokens: list[int]) -> tuple[Traced, torch.Tensor]:
        """Of a request whose rows are these tokens: the request's own, or drafts."""
        whole = self._sequences[request]
        if tokens == whole[start:start + len(tokens)]:
            if request not in self._known:
                traced = Traced()
                self._known[request] = traced, self._reference.logits(whole, traced)
            return self._known[request]
        traced = Traced()
        return traced, self._reference.logits([*whole[:start], *tokens], traced)

    def _compared(self, step: Step, one: Served, start: int, layer: int | None, name: str,
                  found: torch.Tensor, right: torch.Tensor) -> Fault | None:
        rows = found[one.first:one.first + one.rows]
        if name != "key":
            right = right.chunk(self._share[1], -1)[self._share[0]]
        return self._off(step, one, start, layer, name, rows, right[start:start + one.rows])

    def _off(self, step: Step, one: Served, start: int, layer: int | None, name: str,
             rows: torch.Tensor, right: torch.Tensor) -> Fault | None:
        off = (rows.float() - right).abs().nan_to_num(nan=torch.inf).amax(-1)
        bound = self._floor.of(name)
        self.worst[name] = max(self.worst.get(name, 0.0), float(off.max()) / bound)
        if bool((off <= bound).all()):
            return None
        row = int((off > bound).nonzero()[0, 0])
        return Fault(step.number, one.request, start + row, layer, name, float(off[row]), bound)

    def _logits(self, step: Step, right: dict[int, tuple[int, Traced, torch.Tensor]]
                ) -> Fault | None:
        if step.logits is None or step.logit_rows is None:
            return None
        for logits, row in zip(step.logits, step.logit_rows.tolist(), strict=True):
            for one in step.served:
                if one.request in right and one.first <= row < one.first + one.rows:
                    start, _, expected = right[one.request]
                    at = start + row - one.first
                    fault = self._off(step, one, at, None, LOGITS, logits[None],
                                      expected[at][None])
                    if fault is not None:
                        return fault
        return None


def engine_step(scenario: Scenario, units: int, step: Step) -> EngineStep:
    """The truth about a step: the scheduler's block tables, and the model's positions."""
    assert step.positions is not None or not step.served
    ends = [int(step.positions[one.first]) + one.rows  # type: ignore[index]
            for one in step.served]
    tables = tuple(one.blocks[:-(-end // scenario.block)]
                   for one, end in zip(step.served, ends, strict=True))
    return EngineStep(
        case=str(scenario), number=step.number, arch=scenario.arch, compute_units=units,
        heads=scenario.heads, block_size=scenario.block, page_size=1, dtype_q=scenario.cache,
        dtype_kv=scenario.cache, causal=True, query_lens=tuple(one.rows for one in step.served),
        seq_lens=tuple(ends), block_tables=tables, pool_blocks=1 << 20, pad=0, q_scale=1.0,
        kv_scale=1.0, data_seed=0)


def _sparse_lists(scenario: Scenario, truth: EngineStep, step: Step) -> list[Finding]:
    """The lists of the first layer, for the keys that its indexer selected; then those of the
    others, of a model whose layers share selections."""
    assert step.built is not None
    found = _of_selection(truth, step, step.built, step.layers[0][SELECTION])
    for number in sorted(step.later) if not found else ():
        taken = step.layers[number - number % scenario.share][SELECTION]
        found = _of_selection(truth, step, step.later[number], taken)
        if number % scenario.share:
            found = (_same_selection(step, number, taken)
                     or [Finding("SP-23", one.step, f"layer {number} has no indexer, and another "
                                 f"list than that of this step's selection: {one.property}, "
                                 f"{one.what}") for one in found])
        if found:
            break
    return found


def _same_selection(step: Step, number: int, taken: torch.Tensor) -> list[Finding]:
    """SP-23: the buffer has the selection that a layer before left there in this step."""
    own = step.layers[number][SELECTION]
    wrong = (own != taken).any(-1)
    if not bool(wrong.any()):
        return []
    row = int(wrong.nonzero()[0, 0])
    at = int((own[row] != taken[row]).nonzero()[0, 0])
    return [Finding("SP-23", step.number, f"layer {number} has no indexer, and key "
                    f"{int(own[row, at])} at place {at} of row {row}'s selection; the layer before "
                    f"left {int(taken[row, at])} there; wrong are {int(wrong.sum())} of "
                    f"{wrong.numel()} rows")]


def _of_selection(truth: EngineStep, step: Step, built: Built, selection: torch.Tensor,
                  ) -> list[Finding]:
    chosen = selection.numpy().astype(np.int32)
    whole = SparseStep(**vars(truth), topk=indexed.TOPK, layers=step.cache_layers)
    if (chosen >= np.array(truth.seq_lens)[whole.owners, None]).any():
        return []  # such a selection is a fault of its own, and has no lists
    return Sparse().check(dataclasses.replace(whole, chosen=tuple(
        row[:count] for row, count in zip(chosen, whole.counts, strict=True))), built)


def judged_lists(scenario: Scenario, units: int, steps: Iterable[Step], rank: int = 0
                 ) -> list[Finding]:
    """The lists and plans that decode kernels read, by the properties of decode; those of the first
    step that fails."""
    for step in steps:
        if step.built is not None and (step.positions is not None or not step.served):
            truth = engine_step(scenario, units, step)
            if scenario.dcp > 1:
                shard = Shard(scenario.dcp)
                truth = dataclasses.replace(shard.share(truth, rank),
                                            heads=scenario.heads * scenario.dcp)
            found = (_sparse_lists(scenario, truth, step) if scenario.model == "dsa"
                     else Decode().check(truth, step.built))
            if found:
                return found
    return []
