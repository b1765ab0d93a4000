"""Where the stand-in for ROCm is: hipcc, its headers, and libamdhip64.so, which is the emulator."""

from __future__ import annotations

import os
import pathlib

from . import _library
from .errors import LibraryError

VARIABLE = "MLA_TESTBED_ROCM"


def home() -> pathlib.Path:
    """The directory for ROCM_PATH: what MLA_TESTBED_ROCM names, else that of this package or of
    the build that the library is of. LibraryError: it is not there."""
    named = os.environ.get(VARIABLE)
    library = _library.library_path().resolve()
    places = [pathlib.Path(named)] if named else [
        pathlib.Path(__file__).parent / "rocm", library.parents[1] / "rocm",
        library.parents[1] / "share" / "mla-testbed" / "rocm"]
    for place in places:
        if (place / "lib" / "libamdhip64.so.6").exists():
            return place.resolve()
    raise LibraryError(
        f"no stand-in for ROCm with lib/libamdhip64.so.6 in {', '.join(map(str, places))}: build "
        f"the target mla_amdhip64, or let {VARIABLE} name one")
