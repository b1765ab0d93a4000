"""Keeps what an engine passes to AITER's planners, and what they fill in."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import mla_bundle, mla_capture
from ..bundle import Bundle

_PREFILL = (mla_capture.PREFILL_NUMBERS, mla_capture.PREFILL_LISTS, mla_capture.PREFILL_BUFFERS)


class Observed:
    """The planner calls since `clear`, in their order.

    Attributes:
        decode: arguments of each call of get_mla_metadata_v1, with tensors as the caller has them.
        prefill: a bundle of each call of get_ps_metadata_v1, copied when it returned.
    """

    def __init__(self, arch: str, compute_units: int) -> None:
        import aiter

        self.facts = {"arch": arch, "num_cu": compute_units}
        self.decode: list[dict[str, Any]] = []
        self.prefill: list[Bundle] = []
        planner = aiter.get_mla_metadata_v1
        mla_capture.replace_everywhere(
            planner, mla_capture.observed(planner, lambda a: self.decode.append(dict(a))))
        other = getattr(aiter, "get_ps_metadata_v1", None)
        if other is not None:
            mla_capture.replace_everywhere(
                other, mla_capture.observed(other, self._planned, name="get_ps_metadata_v1"))

    def clear(self) -> None:
        """Forgets all calls."""
        self.decode.clear()
        self.prefill.clear()

    def _planned(self, arguments: dict[str, Any]) -> None:
        self.prefill.append(Bundle(*mla_capture.bundle_of(arguments, self.facts, _PREFILL)))

    def planned(self, name: str, arguments: dict[str, Any], lists: dict[str, Any]) -> Bundle:
        """The bundle of a planner call, with the lists that the kernel gets.

        Args:
            lists: index lists by their names in a bundle; they replace those of the call.
        """
        scalars, arrays = mla_capture.bundle_of(arguments, self.facts)
        scalars.update(mla_capture.planned_dtypes(arguments))
        if int(arguments.get("mla_version") or 0) == 0:  # V32, by whatever name the enum has
            scalars.pop("mla_version", None)
        found = {key: _int32(value) for key, value in {**arrays, **lists}.items()}
        return Bundle({"name": name, **scalars}, found)

    def unplanned(self, name: str, scalars: dict[str, Any], lists: dict[str, Any]) -> Bundle:
        """The bundle of a step without a plan."""
        return Bundle({"name": name, **self.facts, **scalars},
                      {key: _int32(value) for key, value in lists.items()})


def _int32(value: Any) -> np.ndarray:
    array: np.ndarray = mla_bundle.as_array(value).reshape(-1)
    return array.astype(np.int32)
