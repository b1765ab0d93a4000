"""What an adapter of a serving engine offers: the engine's own builder and forward, step by step.

An adapter is imported in a process of its own (worker.py): it sets up the machine and calls the
installed, unmodified engine. One configuration at a time is alive: `start` makes the engine's
builder anew, `build` and `replay` then run on that builder and its buffers, which is where stale
contents, growth and graph padding show.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..bundle import Bundle
from ..errors import UsageError
from .line import CaseLine
from .step import EngineStep

#: In `Built.requests`: a row of the lists that no live request has, made up for a graph.
PADDING = -1


@dataclasses.dataclass(frozen=True)
class Built:
    """What the engine's builder made for a step.

    Attributes:
        bundle: the decode part: index lists as the kernel gets them (`seqlens_qo_indptr`,
            `seqlens_kv_indptr`, `kv_last_page_lens`, `kv_indices` with all of its capacity), the
            scalars of the planner call, and the five int32 plan buffers if the engine planned;
            copied, so that a later step does not change them. None: the step has no decode part.
        requests: the request of the step of each row of these lists, in their order; PADDING for a
            request that is graph padding.
        leading_rows: zero rows that the engine puts in front of each request's rows.
        others: further plans that this step made, such as one of FP8 prefill.
        elsewhere: requests that the engine handed to another kernel than the decode kernel, such as
            prefills: together with `requests` they are all of the step.
        metadata: the engine's own object, for `attend`.
        addresses: tensors that a captured graph reads, by name: their addresses. Empty outside of
            graphs.
    """

    bundle: Bundle | None
    requests: tuple[int, ...]
    metadata: Any
    leading_rows: int = 0
    others: tuple[Bundle, ...] = ()
    addresses: dict[str, int] = dataclasses.field(default_factory=dict)
    elsewhere: tuple[int, ...] = ()

    @property
    def planned(self) -> bool:
        """Whether the engine made a plan for the decode part."""
        return self.bundle is not None and "work_indptr" in self.bundle.arrays


class Adapter(Protocol):
    """What adapters of all kinds have. The constructor takes a `Machine`, and raises ImportError
    with a sentence where the engine, or what it needs, is not installed.

    Attributes:
        name: such as "vllm".
        version: of the engine, such as "0.27.1".
        aiter: commit or version of the AITER below it.
        sources: files of its builder, whose lines guide fuzzing.

    An adapter may have `attends = False`: `attend` is not called then.
    """

    name: str
    version: str
    aiter: str
    sources: tuple[str, ...]

    def adapt(self, line: CaseLine) -> CaseLine:
        """The nearest case that the engine can be asked to run (adapt.py has the common part)."""


class Engine(Adapter, Protocol):
    """An adapter of kind decode."""

    def refuses(self, step: EngineStep) -> str | None:
        """Why the engine, by its own rules, does not take such a step; None: it takes it."""

    def start(self, steps: Sequence[EngineStep]) -> None:
        """Makes the engine's builder, large enough for these steps, its buffers poisoned.

        Graphs are on if a step has graph padding.
        """

    def build(self, step: EngineStep) -> Built:
        """Runs the engine's builder outside of a graph."""

    def capture(self, step: EngineStep) -> Built | None:
        """Builds for the capture of a graph with room for this step and its padding.

        Returns:
            None if the engine has no graphs for such a step.
        """

    def replay(self, step: EngineStep, captured: Built) -> Built:
        """Builds for a replay; the result is what the captured graph finds at its addresses."""

    def attend(
        self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """The engine's own forward over the decode part.

        Args:
            q: (rows, heads, 576) bits of dtype_q (uint16: bf16, uint8: fp8 of the architecture),
                rows of the decode requests in `built.requests` order, those of padding left out.
            cache: (slots, 576) bits of dtype_kv; a slot is a token's place.

        Returns:
            (rows, heads, 512) float32.
        """


#: Adapters by name, as "module:class"; imported in the worker only.
ADAPTERS: dict[str, str] = {
    "vllm": "mla_testbed.engines.vllm.adapter:VllmEngine",
    "sglang": "mla_testbed.engines.sglang.adapter:SglangEngine",
}
#: Kinds of steps that engines are judged by: those that cases have (docs/reference/cases.md).
CASE_KINDS = ("decode", "fa", "prefill")
#: All kinds; a case of kind decode is a step of sparse attention as well.
KINDS = (*CASE_KINDS, "sparse")
#: Adapters of the kinds beside decode.
OTHER_ADAPTERS: dict[str, dict[str, str]] = {
    "fa": {"vllm": "mla_testbed.engines.vllm.fa_adapter:VllmFa"},
    "sparse": {"vllm": "mla_testbed.engines.vllm.sparse_adapter:VllmSparse"},
    "prefill": {"vllm": "mla_testbed.engines.vllm.prefill_adapter:VllmPrefill",
                "sglang": "mla_testbed.engines.sglang.prefill_adapter:SglangPrefill"},
}


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a worker imitates, for its whole life.

    Attributes:
        arch, compute_units: the GPU.
        late_copies: copies that do not block happen as late as a stream allows.
        without_aiter: planners under AITER's names take its place (without_aiter.py).
        options: of the adapter, as (name, value).
        kind: of steps, one of KINDS.
    """

    arch: str
    compute_units: int
    late_copies: bool = False
    without_aiter: bool = False
    options: tuple[tuple[str, str], ...] = ()
    kind: str = "decode"

    def option(self, known: dict[str, tuple[str, ...]]) -> dict[str, str]:
        """The options, and the first of the known values for each that is not named.

        Raises:
            UsageError: an option or a value that is not known.
        """
        for name, value in self.options:
            if value not in known.get(name, ()):
                choices = "; ".join(f"{n}={'|'.join(v)}" for n, v in known.items()) or "none"
                raise UsageError(f"option {name}={value} is unknown; this adapter has {choices}")
        return {**{name: values[0] for name, values in known.items()}, **dict(self.options)}


def load(name: str, machine: Machine) -> Any:
    """The adapter of an engine, by its name or as "module:class": an Engine, or for kind fa a
    FaEngine (fa/built.py), for kind prefill a PrefillEngine (prefill/built.py). One of kind sparse
    is an Engine for SparseSteps (sparse/step.py).

    Raises:
        UsageError: no such adapter.
        ImportError: the engine, or something that it needs, is not installed.
    """
    known = OTHER_ADAPTERS.get(machine.kind, ADAPTERS)
    if name in ADAPTERS and name not in known:
        raise UsageError(f"engine {name} has no adapter for kind {machine.kind}; expected one of "
                         f"{', '.join(known)}")
    where = known.get(name, name)
    module, colon, attribute = where.partition(":")
    if not colon:
        raise UsageError(f"engine '{name}' is unknown; expected {', '.join(ADAPTERS)}, "
                         "or module:class of an adapter")
    if not module or module.startswith(".") or not attribute:
        raise UsageError(f"engine '{name}' is unknown; expected module:class of an adapter")
    found = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise UsageError(f"engine '{name}': module {module} has no class '{attribute}'")
    return found(machine)
