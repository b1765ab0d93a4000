"""Which slots of the paged cache a step wrote: those of its rows, and no others.

The cache is compared with a copy from before the step. A step of a rank without requests writes
nothing that anybody reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .traced import Step

_SHOWN = 5


class Written:
    """Keeps what each step changed.

    Args:
        share: which rank of how many that share a context.
        unused: slots that the engine itself lets padding write, because no request gets them.
    """

    def __init__(self, unused: Sequence[int] = ()) -> None:
        self.share = 0, 1
        self._unused = frozenset(unused)
        self._before: list[torch.Tensor] = []
        self._step: Step | None = None

    def begins(self, step: Step | None, caches: Sequence[torch.Tensor]) -> None:
        """A step begins, so the one before has ended. None: none begins.

        Args:
            caches: of each layer (slots, elements of a slot).
        """
        with _disable_current_modes():
            now = [cache.detach().contiguous().view(torch.uint8).clone() for cache in caches]
        if self._step is not None:
            self._step.written = {
                layer: changed for layer, (old, new) in enumerate(zip(self._before, now,
                                                                      strict=True))
                if (changed := (old != new).any(-1).nonzero().flatten().tolist())}
        self._before, self._step = now, step

    def wrong(self, step: Step, block: int) -> str:
        """What is wrong with what a step wrote; "" if nothing is."""
        own = set(self._unused)
        for one in step.served if step.positions is not None else ():
            start = int(step.positions[one.first])  # type: ignore[index]
            rank, of = self.share
            own |= {one.blocks[at // (block * of)] * block + at % (block * of) // of
                    for at in range(start, start + one.rows) if at % of == rank}
        for layer, changed in sorted(step.written.items()):
            others = sorted(set(changed) - own)
            if others:
                text = ", ".join(map(str, others[:_SHOWN])) + ", …" * (len(others) > _SHOWN)
                return (f"step {step.number}: slots {text} of layer {layer} changed; expected "
                        + ("those of its rows alone" if step.served else
                           "none, since no request is served"))
        return ""
