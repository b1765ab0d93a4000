"""Triton 3.7: no descriptors in tuples; AMD's launcher passes no global scratch."""

from __future__ import annotations

from typing import Any

from ..kernarg import Value
from . import common


class _Adapter:
    # The methods are documented in versions.Adapter.
    def arguments(self, signature: dict[str, Any], metadata: Any,
                  args: tuple[Any, ...]) -> list[Value]:
        return common.arguments(signature, metadata, args, nested_descriptors=False)

    def scratch(self, metadata: Any, grid: tuple[int, int, int], stream: int) -> list[Value]:
        from triton.runtime import _allocation

        profile = common.allocated(metadata.profile_scratch_size, metadata.profile_scratch_align,
                                   grid, stream, _allocation._profile_allocator.get())
        return [Value("global scratch", "*i8", None), Value("profile scratch", "*i8", profile)]


ADAPTER = _Adapter()
