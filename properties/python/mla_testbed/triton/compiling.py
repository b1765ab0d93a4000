"""Compiling without launching: LDS, registers and spills, as the code object has them."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import gfx
from ..errors import UsageError
from . import active


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A kernel as it was compiled for an architecture. Sizes are bytes.

    `vgprs` has the accumulation registers (`agprs`) in it. `asm` has the text or bytes of every
    stage: "ttir", "ttgir", "llir", "amdgcn", "hsaco".
    """

    name: str
    arch: str
    threads: int
    lds_size: int
    lds_limit: int
    scratch_size: int
    vgprs: int
    agprs: int
    sgprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    asm: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def fits(self) -> bool:
        """Whether a workgroup has the LDS that the kernel asks for."""
        return self.lds_size <= self.lds_limit

    def __str__(self) -> str:
        verdict = "" if self.fits else ", which is too much"
        return (f"{self.name} for {self.arch}: {self.threads} threads, {self.lds_size} of "
                f"{self.lds_limit} bytes of LDS{verdict}, {self.vgprs} VGPRs ({self.agprs} of them "
                f"accumulation), {self.sgprs} SGPRs, {self.spilled_vgprs} VGPRs and "
                f"{self.spilled_sgprs} SGPRs spilled, {self.scratch_size} bytes of scratch a lane")


def compile_only(fn: Any, *args: Any, arch: str = "gfx942", **kwargs: Any) -> Compiled:
    """Compiles a kernel for the arguments of a launch and says what it needs.

    fn: a function under @triton.jit. args, kwargs: as in a launch; a torch dtype may stand for a
        pointer to that type. Nothing runs, and no tensor is read.
    Raises what Triton's compiler raises, and UnsupportedError where the code object has an
    encoding that the emulator does not know.
    """
    if not hasattr(fn, "warmup"):
        raise UsageError(f"{fn!r} is no kernel; expected a function under @triton.jit")
    with active.emulated(arch):
        compiled = fn.warmup(*args, grid=(1,), **kwargs)
        device = gfx.Device(arch)
        kernel = device.load(compiled.kernel).kernel(compiled.name)
    return Compiled(
        name=compiled.name, arch=arch, threads=64 * compiled.metadata.num_warps,
        lds_size=kernel.lds_size + compiled.metadata.shared,
        lds_limit=device.properties["lds_bytes"], scratch_size=kernel.scratch_size,
        vgprs=kernel.vgprs, agprs=kernel.agprs, sgprs=kernel.sgprs,
        spilled_vgprs=kernel.spilled_vgprs, spilled_sgprs=kernel.spilled_sgprs,
        asm=dict(compiled.asm))
