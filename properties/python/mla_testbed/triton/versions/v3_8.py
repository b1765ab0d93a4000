"""Triton 3.8: descriptors in tuples; global scratch comes from triton.set_allocator(), and the
driver has an allocator of its own for profile scratch."""

from __future__ import annotations

from typing import Any

from ..kernarg import Value
from . import common


class _Adapter:
    # The methods are documented in versions.Adapter.
    def arguments(self, signature: dict[str, Any], metadata: Any,
                  args: tuple[Any, ...]) -> list[Value]:
        return common.arguments(signature, metadata, args, nested_descriptors=True)

    def scratch(self, metadata: Any, grid: tuple[int, int, int], stream: int) -> list[Value]:
        from triton.runtime import _allocation, driver

        allocate = driver.active.allocate_default_profile_scratch
        if _allocation.has_profile_allocator():
            allocate = _allocation._profile_allocator.get()
        return [
            Value("global scratch", "*i8", common.allocated(
                metadata.global_scratch_size, metadata.global_scratch_align, grid, stream,
                _allocation._allocator.get())),
            Value("profile scratch", "*i8", common.allocated(
                metadata.profile_scratch_size, metadata.profile_scratch_align, grid, stream,
                allocate)),
        ]


ADAPTER = _Adapter()
