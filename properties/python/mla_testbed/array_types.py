"""Types of arrays in signatures; nothing here is needed to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int32Array: TypeAlias = npt.NDArray[np.int32]
    UInt64Array: TypeAlias = npt.NDArray[np.uint64]


class Array(Protocol):
    """What holds numbers in memory: an array of numpy or a tensor of torch, no list.

    Elements that numpy has no type for (bf16, fp8) are those of torch or ml_dtypes, or integers of
    the same width.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of the elements, by the library that made them."""
        ...

    def __getitem__(self, index: Any, /) -> Any: ...
