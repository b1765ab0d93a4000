"""A package `aiter` that has planners and nothing else, for machines without AITER's sources.

Size queries and planners have AITER's names, parameters and results, because they are this
project's, which repeat AITER's bit for bit. Builders of engines run on them, so lists and plans can
be judged. Everything that computes refuses by name: nothing can be attended.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from .. import _library, planning
from ..errors import TensorError
from ..world import on_device
from .engine import Machine

#: What reports say in the place of AITER's version.
VERSION = "none"

#: What builders ask for by name, because their module imports it or to learn what there is.
_REFUSED = {
    "aiter": (
        "flash_attn_varlen_fp8_pertensor_func", "flash_attn_varlen_func", "mha_batch_prefill_func",
        "mla_prefill_ps_asm_fwd", "mla_reduce_v1", "paged_attention_ragged"),
    "aiter.mla": ("get_meta_param", "mla_decode_fwd", "mla_prefill_fwd"),
    "aiter.ops.triton.attention.unified_attention": ("unified_attention",),
    "aiter.ops.triton.gluon.mla_gluon": ("mla_gluon",),
}
_EMPTY = ("aiter.jit", "aiter.jit.core", "aiter.jit.utils", "aiter.ops", "aiter.ops.triton",
          "aiter.ops.triton.attention", "aiter.ops.triton.gluon", "aiter.ops.triton.utils")
#: Called while an engine is imported; what they return is not used then.
_AT_IMPORT = ("get_hip_quant", "make_kernel_repr")
Sizes = tuple[tuple[Any, torch.dtype], ...]


def install(machine: Machine, *, all_names: bool) -> None:
    """Puts the package into sys.modules.

    Args:
        all_names: whatever else is imported from the package is there too, and refuses to be
            called. Without it such an import fails, as with an AITER that lacks the name.

    Raises:
        ImportError: `aiter` is imported already.
    """
    if "aiter" in sys.modules:
        raise ImportError("aiter is imported already, so that it cannot be left out", name="aiter")
    fp8 = torch.float8_e4m3fnuz if machine.arch == "gfx942" else torch.float8_e4m3fn
    served: dict[str, dict[str, Any]] = {
        "aiter.dtypes": {
            "fp8": fp8, "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32,
            "i32": torch.int32, "i64": torch.int64,
            "d_dtypes": {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": fp8}},
        "aiter.ops.triton.utils.types": {"e4m3_dtype": fp8},
        "aiter.jit.utils.chip_info": {
            "get_gfx": lambda: machine.arch, "get_gfx_runtime": lambda: machine.arch,
            "get_cu_num": lambda: machine.compute_units},
    }
    made = {name: _module(name) for name in ("aiter", *_EMPTY, *_REFUSED, *served)}
    for refused, names in _REFUSED.items():
        made[refused].__dict__.update({name: Absent(f"{refused}.{name}") for name in names})
    for name, values in served.items():
        made[name].__dict__.update(values)
    made["aiter"].__dict__.update(planners(machine.arch, machine.compute_units))
    if all_names:
        for module in made.values():
            _absents(module)
        sys.meta_path.append(_Finder())
    for name, module in made.items():
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(made[parent], own, module)


def planners(arch: str, compute_units: int) -> dict[str, Callable[..., Any]]:
    """AITER's two size queries and two planners, for one device."""
    device = {"arch": arch, "compute_units": compute_units}

    def get_mla_metadata_info_v1(
        batch_size: int, max_seqlen_qo: int, num_head_qo: int, q_dtype: torch.dtype,
        kv_dtype: torch.dtype, is_sparse: bool, fast_mode: bool = True, num_kv_splits: int = 32,
        intra_batch_mode: bool = False, max_split_per_batch: int = -1,
    ) -> Sizes:
        return _sizes(planning.decode_sizes(
            batch_size, max_seqlen_qo, num_head_qo, q_dtype, kv_dtype, is_sparse=is_sparse,
            fast_mode=fast_mode, num_kv_splits=num_kv_splits, intra_batch_mode=intra_batch_mode,
            max_split_per_batch=max_split_per_batch, **device))  # type: ignore[arg-type]

    def get_mla_metadata_v1(
        seqlens_qo_indptr: Any, seqlens_kv_indptr: Any, kv_last_page_lens: Any,
        num_heads_per_head_k: int, num_heads_k: int, is_causal: bool, work_metadata_ptrs: Any,
        work_info_set: Any, work_indptr: Any, reduce_indptr: Any, reduce_final_map: Any,
        reduce_partial_map: Any, page_size: int = 1, kv_granularity: int = 16,
        max_seqlen_qo: int = -1, uni_seqlen_qo: int = -1, fast_mode: bool = True, topk: int = -1,
        max_split_per_batch: int = -1, intra_batch_mode: bool = False,
        is_cp_round_robin: bool = False, dtype_q: torch.dtype | None = None,
        dtype_kv: torch.dtype | None = None,
    ) -> None:
        buffers = planning.PlanBuffers(work_metadata_ptrs, work_indptr, work_info_set,
                                       reduce_indptr, reduce_final_map, reduce_partial_map)
        planning.plan_decode(
            seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens, num_heads_per_head_k,
            num_heads_k, bool(is_causal), buffers, page_size=page_size,
            kv_granularity=kv_granularity, max_seqlen_qo=max_seqlen_qo,
            uni_seqlen_qo=uni_seqlen_qo, fast_mode=bool(fast_mode), topk=topk,
            max_split_per_batch=max_split_per_batch, intra_batch_mode=intra_batch_mode,
            is_cp_round_robin=is_cp_round_robin, dtype_q=dtype_q or torch.bfloat16,
            dtype_kv=dtype_kv or torch.bfloat16, as_aiter=True,
            **device)  # type: ignore[arg-type]

    return {"get_mla_metadata_info_v1": get_mla_metadata_info_v1,
            "get_mla_metadata_v1": get_mla_metadata_v1, **_prefill(compute_units)}


def _prefill(compute_units: int) -> dict[str, Callable[..., Any]]:
    def get_ps_metadata_info_v1(
        batch_size: int, num_head_k: int, max_qlen: int, qlen_granularity: int = 256,
    ) -> Sizes:
        return _sizes(planning.prefill_sizes(batch_size, num_head_k, max_qlen, qlen_granularity,
                                             compute_units=compute_units))

    def get_ps_metadata_v1(
        seqlens_qo_indptr: Any, pages_kv_indptr: Any, context_lens: Any, gqa_ratio: int,
        num_heads_k: int, work_metadata_ptrs: Any, work_indptr: Any, work_info: Any,
        reduce_indptr: Any, reduce_final_map: Any, reduce_partial_map: Any,
        qhead_granularity: int = 1, qlen_granularity: int = 256, kvlen_granularity: int = 16,
        block_size: int = 16, is_causal: bool = True,
    ) -> None:
        lists = {"seqlens_qo_indptr": seqlens_qo_indptr, "pages_kv_indptr": pages_kv_indptr,
                 "context_lens": context_lens}
        with _buffers_anywhere(lists):
            planning.plan_prefill(
                seqlens_qo_indptr, pages_kv_indptr, context_lens, gqa_ratio, num_heads_k,
                planning.PlanBuffers(work_metadata_ptrs, work_indptr, work_info, reduce_indptr,
                                     reduce_final_map, reduce_partial_map),
                qhead_granularity=qhead_granularity, qlen_granularity=qlen_granularity,
                kvlen_granularity=kvlen_granularity, block_size=block_size, is_causal=is_causal,
                compute_units=compute_units, as_aiter=True)

    return {"get_ps_metadata_info_v1": get_ps_metadata_info_v1,
            "get_ps_metadata_v1": get_ps_metadata_v1}


@contextlib.contextmanager
def _buffers_anywhere(lists: dict[str, Any]) -> Iterator[None]:
    """AITER's prefill planner reads lists of the host, and copies its results to wherever the
    buffers are: to the device, or to pinned memory.

    Raises:
        TensorError: a list is on the device.
    """
    for name, tensor in lists.items():
        if on_device(tensor):
            raise TensorError(f"{name}: expected a tensor in host memory, found one on the device")
    places = _library.check_places(False)
    try:
        yield
    finally:
        _library.check_places(places)


def _sizes(sizes: planning.BufferSizes) -> Sizes:
    """Six pairs as AITER returns them; a vector's shape is a number."""
    shapes = [shape if len(shape) > 1 else shape[0] for shape in sizes.shapes().values()]
    return tuple(zip(shapes, [torch.uint64] + 5 * [torch.int32], strict=True))


def _module(name: str) -> types.ModuleType:
    made = types.ModuleType(name, __doc__)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    made.__path__ = []
    return made


def _absents(module: types.ModuleType) -> None:
    """Every further name of a module is one that refuses."""

    def __getattr__(name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Absent(f"{module.__name__}.{name}")
        module.__dict__[name] = made  # what a stand-in puts into it stays
        return made

    module.__dict__["__getattr__"] = __getattr__


class Absent:
    """A function, an enumeration or a class of AITER that is not here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Absent:
        """Refuses.

        Raises:
            ImportError: always, but for what engines call while they are imported.
        """
        if self._name.rpartition(".")[2] in _AT_IMPORT:
            return Absent(f"{self._name}()")
        raise ImportError(f"{self._name} was called in a run without AITER; a run with it, and "
                          "AITER_SRC naming its source tree, has it", name="aiter")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of the package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec of the module, or None for another package's."""
        if not fullname.startswith("aiter."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Its names are those that refuse."""
        _absents(module)
