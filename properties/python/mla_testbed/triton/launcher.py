"""Launches: arguments to bytes, tensors to ranges, faults to exceptions."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import gfx
from ..errors import UnsupportedError, UsageError
from . import kernarg, memory, pointers, state, versions
from .faults import KernelFault, host_lines


@dataclasses.dataclass(frozen=True)
class Loaded:
    """What Triton carries as a kernel's function."""

    module: gfx.Module
    kernel: gfx.Kernel


class EmulatorLauncher:
    """Made once for each compiled kernel; called for each launch."""

    def __init__(self, src: Any, metadata: Any) -> None:
        if metadata.launch_cooperative_grid:
            raise UnsupportedError(
                f"kernel '{metadata.name}' wants a cooperative launch: workgroups that wait for "
                "one another do not finish in the emulator, which runs each to its end")
        self._metadata = metadata
        self._version = versions.installed()
        self._function = getattr(getattr(src, "fn", None), "fn", None)
        self._signature = {str(name): kind for name, kind in src.signature.items()}

    def __call__(self, grid_x: int, grid_y: int, grid_z: int, stream: int, function: Loaded,
                 kernel_metadata: tuple[int, int, int], launch_metadata: Any, enter_hook: Any,
                 exit_hook: Any, *args: Any) -> None:
        """As CompiledKernel.run() calls it; KernelFault where the launch is not clean.

        A grid with a 0 in it runs nothing, hooks aside: Triton's launcher for AMD skips it too.
        """
        grid = (int(grid_x), int(grid_y), int(grid_z))
        warps, ctas, shared = kernel_metadata
        if min(grid) < 0 or max(grid) >= 1 << 32:
            raise UsageError(f"grid is {grid}; expected 0 to 2^32 - 1 programs on each axis")
        if ctas != 1:
            raise UnsupportedError(f"num_ctas is {ctas}; gfx942 and gfx950 have no clusters")
        if enter_hook is not None:
            enter_hook(launch_metadata)
        values = self._version.arguments(self._signature, self._metadata, args)
        report = None if 0 in grid else self._run(function, grid, warps, shared, stream, values)
        if exit_hook is not None:
            exit_hook(launch_metadata)
        if report is not None and not report.clean:
            raise KernelFault(report, _calls_host(function.kernel), host_lines(self._function))

    def _run(self, function: Loaded, grid: tuple[int, int, int], warps: int, shared: int,
             stream: int, values: list[kernarg.Value]) -> gfx.Report:
        scratch = self._version.scratch(self._metadata, grid, stream)
        options = state.current_options()
        options = dataclasses.replace(options, checks=options.checks | {"dropped"})
        reached = pointers.targets((one.value, one.name) for one in values
                                   if one.type in ("*i64", "*u64"))
        ranges = _ranges(values + scratch, [range for _, range in reached])
        report = function.module.run(
            function.kernel.name, grid=grid, block=(64 * warps, 1, 1),
            kernarg=kernarg.packed(function.kernel, values + scratch),
            ranges=ranges, dynamic_lds=shared, options=options)
        state.keep_report(report)
        return report


def _calls_host(kernel: gfx.Kernel) -> bool:
    """Whether printing or a failed assertion would ask a host for help."""
    return any(argument.kind in ("hidden_hostcall_buffer", "hidden_printf_buffer")
               for argument in kernel.arguments)


def _ranges(values: list[kernarg.Value], reached: list[gfx.Range]) -> list[gfx.Range]:
    ranges = state.registered_ranges()
    for one in values:
        if not one.type.startswith("*"):
            continue
        found = memory.storage_of(one.value, one.name)
        if found is not None:
            ranges.append(gfx.Range(*found, one.name))
    known = {(one.address, one.size) for one in ranges}  # by a better name
    return memory.merged(ranges + [one for one in reached if (one.address, one.size) not in known])
