"""The machine that a world imitates: one GPU of a known architecture."""

from __future__ import annotations

import dataclasses

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Machine:
    """One GPU as software sees it.

    arch: "gfx942" or "gfx950". compute_units: what the device properties and AITER's CU_NUM
    answer. late_copies: copies that do not block happen as late as a stream allows.
    backend: what executes AITER's operations, "cpu" or "aiter". poison: torch.empty on the device
    gives memory full of NaN and of numbers that are no index, not what happens to be there.
    """

    arch: str
    compute_units: int
    name: str
    memory: int
    capability: tuple[int, int]
    lds: int
    late_copies: bool = False
    backend: str = "cpu"
    poison: bool = False


_KNOWN = {
    "gfx942": Machine("gfx942", 304, "AMD Instinct MI300X", 192 * GIB, (9, 4), 65536),
    "gfx950": Machine("gfx950", 256, "AMD Instinct MI355X", 288 * GIB, (9, 5), 163840),
}
BACKENDS = ("cpu", "aiter")


def machine(
    arch: str, compute_units: int | None = None, *, late_copies: bool = False, backend: str = "cpu",
    poison: bool = False,
) -> Machine:
    """The machine of an architecture, with all its compute units or with as many as are named.

    Raises ValueError for an unknown architecture or backend, or a count outside 1 to 1024.
    """
    if arch not in _KNOWN:
        raise ValueError(f"architecture {arch!r} is unknown; expected one of {sorted(_KNOWN)}")
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r} is unknown; expected one of {list(BACKENDS)}")
    known = _KNOWN[arch]
    units = known.compute_units if compute_units is None else compute_units
    if not 1 <= units <= 1024:
        raise ValueError(f"{units} compute units; expected 1 to 1024")
    return dataclasses.replace(
        known, compute_units=units, late_copies=late_copies, backend=backend,
        poison=poison)
