"""The kinds of steps that engines are judged by."""

from __future__ import annotations

from collections.abc import Callable

from . import adapt
from .fa import adapt as fa
from .line import CaseLine
from .prefill import adapt as prefill
from .sparse import adapt as sparse

#: What adapts cases to engines, for each kind of steps.
COMMON: dict[str, Callable[[CaseLine, str | None], CaseLine]] = {
    "decode": adapt.common, "fa": fa.common, "prefill": prefill.common, "sparse": sparse.common}
