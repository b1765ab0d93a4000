"""What an engine did in each step: who was served, what each layer computed, which lists it read.

An adapter of an engine fills this in; `finder` compares it with the reference.
"""

from __future__ import annotations

import dataclasses

import torch

from ..decode.built import Built


@dataclasses.dataclass
class Served:
    """One request in one step.

    Attributes:
        request: its number. rows: how many. first: its first row in the step's tensors.
        blocks: the scheduler's block table, as far as it reaches.
    """

    request: int
    rows: int
    first: int
    blocks: tuple[int, ...]


@dataclasses.dataclass
class Step:
    """One step of the engine's runner.

    Attributes:
        number: from 0. served: in the order of the batch.
        tokens, positions: (rows,) what the model got; None before the first layer ran.
        layers: number of a layer -> name of a tensor -> (rows, elements), float32.
        logits: (rows of `logit_rows`, vocabulary).
        built: what the decode kernel of the first layer was about to read.
        later: number of a layer -> the same of it, of a model whose layers share selections.
        replayed: the step's layers were a graph's.
        written: layer -> slots of the cache that changed, if that was watched.
        cache_layers: of a model with an indexer: layers whose blocks lie between two of a layer's.
    """

    number: int
    served: list[Served]
    tokens: torch.Tensor | None = None
    positions: torch.Tensor | None = None
    layers: dict[int, dict[str, torch.Tensor]] = dataclasses.field(default_factory=dict)
    logits: torch.Tensor | None = None
    logit_rows: torch.Tensor | None = None
    built: Built | None = None
    later: dict[int, Built] = dataclasses.field(default_factory=dict)
    replayed: bool = False
    cache_layers: int = 1
    written: dict[int, list[int]] = dataclasses.field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows without padding."""
        return sum(one.rows for one in self.served)
