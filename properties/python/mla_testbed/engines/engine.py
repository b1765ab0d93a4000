"""What an adapter of a serving engine offers: the engine's own builder and forward, step by step.

An adapter is imported in a process of its own (worker.py): it sets up the machine and calls the
installed, unmodified engine. One configuration at a time is alive: `start` makes the engine's
builder anew, `build` and `replay` then run on that builder and its buffers, which is where stale
contents, growth and graph padding show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol, TypeVar

from ..errors import UsageError
from .line import CaseLine

Step_contra = TypeVar("Step_contra", contravariant=True)
Made_co = TypeVar("Made_co", covariant=True)
Built = TypeVar("Built")


class Adapter(Protocol[Step_contra, Made_co]):
    """What adapters of all kinds have, for the steps of one and what is built for them.

    The constructor takes a `Machine`, and raises ImportError with a sentence where the engine, or
    what it needs, is not installed.

    Attributes:
        name: such as "vllm".
        version: of the engine, such as "0.27.1".
        aiter: commit or version of the AITER below it.
        sources: files of its builder, whose lines guide fuzzing.

    An adapter may have `attends = False`: `attend` is not called then. One that runs AITER's Python
    has `ported()`, a ported.Ported: in place of which modules ours ran so far.
    """

    name: str
    version: str
    aiter: str
    sources: tuple[str, ...]

    def adapt(self, line: CaseLine) -> CaseLine:
        """The nearest case that the engine can be asked to run (Kind.adapt has the common part)."""

    def start(self, steps: Sequence[Step_contra]) -> None:
        """Makes the engine's builder and layer, large enough for these steps, buffers poisoned.

        Graphs are on if a step has graph padding.
        """

    def build(self, step: Step_contra) -> Made_co:
        """Reorders the batch where the engine does, and runs its builder, outside of a graph."""


class Graphs(Adapter[Step_contra, Built], Protocol[Step_contra, Built]):
    """An adapter of a kind whose steps can be in graphs."""

    def capture(self, step: Step_contra) -> Built | None:
        """Builds for the capture of a graph with room for this step and its padding.

        Returns:
            None if the engine has no graphs for such a step.
        """

    def replay(self, step: Step_contra, captured: Built) -> Built:
        """Builds for a replay; the result is what the captured graph finds at its addresses."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a worker imitates, for its whole life.

    Attributes:
        arch, compute_units: the GPU.
        late_copies: copies that do not block happen as late as a stream allows.
        without_aiter: planners under AITER's names take its place (without_aiter.py).
        modules: AITER's compiled ones, see aiter.own.choice.choose.
        poison: memory that nobody wrote is poison. backend: what executes AITER's operations.
        options: of the adapter, as (name, value).
        kind: of steps, one of kinds.KINDS.
    """

    arch: str
    compute_units: int
    late_copies: bool = False
    without_aiter: bool = False
    options: tuple[tuple[str, str], ...] = ()
    kind: str = "decode"
    poison: bool = False
    backend: str = "cpu"
    modules: str = "ported"

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
