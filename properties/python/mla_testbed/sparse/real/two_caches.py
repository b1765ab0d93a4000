"""DeepSeek-V4's two caches of a batch: the window's, and that of the compressed keys."""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import windows
from ..inputs import Inputs
from ..lists import Lists
from ..selection import NONE


def selected(inputs: Inputs) -> np.ndarray:
    """(rows, k) int32: some of the compressed keys that each row sees, then -1."""
    made = np.full((inputs.case.rows, inputs.case.k), NONE, np.int32)
    draw = np.random.default_rng([inputs.case.seed, 13])
    for row in range(inputs.case.rows):
        count = windows.compressed_of(inputs, row)
        chosen = draw.permutation(count)[:inputs.case.k]
        made[row, :chosen.size] = chosen
    return made


def with_one(indices: np.ndarray) -> np.ndarray:
    """A kernel gets no empty tensor."""
    return np.concatenate([indices, np.full(1, -1, np.int32)])


@dataclasses.dataclass(frozen=True)
class Both:
    """Two caches of a batch, and a row's lists into each."""

    inputs: Inputs
    other: Inputs
    window: Lists
    compressed: Lists

    def lists(self) -> Lists:
        """One list of each row: window, then compressed; slots of the second cache come after
        those of the first."""
        slots = self.inputs.blocks * self.inputs.case.block
        return Lists.of_rows([
            np.concatenate([self.window.row(row), slots + self.compressed.row(row)])
            for row in range(self.window.indptr.size - 1)])

    def keys(self, slots: np.ndarray) -> np.ndarray:
        """(n, width) of slots of `lists`."""
        first = self.inputs.blocks * self.inputs.case.block
        made = np.empty((slots.size, self.inputs.case.row_width))
        for source, mine, at in ((self.inputs, slots < first, 0),
                                 (self.other, slots >= first, first)):
            made[mine] = source.attended_rows(slots[mine] - at)
        return made


def both_of(inputs: Inputs) -> Both:
    """The second cache is of the encoding OCP, with other data and the same tables."""
    case, picked = inputs.case, selected(inputs)
    changed = dataclasses.replace(case, fp8="ocp", seed=case.seed + 1)
    other = dataclasses.replace(inputs, case=changed)
    other.__dict__["slot_mapping"] = inputs.slot_mapping
    rows = [inputs.slots(int(inputs.owners[row]))[picked[row][picked[row] != NONE]]
            for row in range(case.rows)]
    compressed = Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * case.pad])
    return Both(inputs, other, windows.windows(inputs), compressed)
