"""SGLang's ForwardMetadata as a bundle: the tensors that a kernel gets."""

from __future__ import annotations

from typing import Any

from ... import mla_bundle
from ...bundle import Bundle
from ..observed import Observed

#: Tensors of a ForwardMetadata, and what a bundle calls them.
LISTS = {"qo_indptr": "seqlens_qo_indptr", "kv_indptr": "seqlens_kv_indptr",
         "kv_last_page_len": "kv_last_page_lens", "kv_indices": "kv_indices"}
PLAN = {"work_indptr": "work_indptr", "work_info_set": "work_info",
        "reduce_indptr": "reduce_indptr", "reduce_final_map": "reduce_final_map",
        "reduce_partial_map": "reduce_partial_map"}


def bundle_of(name: str, metadata: Any, observed: Observed, unplanned: dict[str, Any]) -> Bundle:
    """Lists and plan as they are in `metadata` now.

    Args:
        observed: the planner calls of this step.
        unplanned: scalars of a step without a planner call.
    """
    lists = {key: getattr(metadata, field) for field, key in LISTS.items()}
    if not observed.decode:
        return observed.unplanned(name, unplanned, lists)
    plan = {key: getattr(metadata, field) for field, key in PLAN.items()
            if getattr(metadata, field) is not None}
    return observed.planned(name, observed.decode[-1], {**lists, **plan})


def addresses(metadata: Any) -> dict[str, int]:
    """Where a kernel finds each tensor of the metadata."""
    found = {field: getattr(metadata, field) for field in (*LISTS, *PLAN, "work_metadata")}
    return {field: mla_bundle.address(tensor) for field, tensor in found.items()
            if tensor is not None}
