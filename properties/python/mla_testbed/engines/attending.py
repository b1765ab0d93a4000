"""The two functions of AITER that a whole engine with dense MLA attends with, for runs without it:
decodes by this project's stage 1, and reduce over the engine's plan, prompts by dense attention.

They stand for AITER's Python as well as for its kernels, so they take what every AITER takes as it
is: 16 heads in bf16.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import torch

from .. import kernels
from ..errors import UsageError
from . import plain
from .e2e.scenario import Scenario
from .fa import served

_HEADS, _DIRECT = 16, 4


def expect(scenario: Scenario) -> None:
    """Refuses what needs more of AITER.

    Raises:
        UsageError: with the field, and what is expected.
    """
    wanted = {"model": "mla", "heads": _HEADS, "cache": "bf16", "backend": "cpu", "dcp": 1}
    for name, value in wanted.items():
        if getattr(scenario, name) != value:
            raise UsageError(f"scenario field '{name}' is {getattr(scenario, name)}; expected "
                             f"{value} in a run without AITER")


def install(arch: str) -> None:
    """Once in a process, after without_aiter.install."""
    package: Any = importlib.import_module("aiter")
    package.flash_attn_varlen_func = served.of_signature(
        "flash_attn_varlen_func", inspect.signature(_varlen))

    def mla_decode_fwd(
        q: torch.Tensor, kv_buffer: torch.Tensor, o: torch.Tensor, qo_indptr: torch.Tensor,
        kv_indptr: torch.Tensor, kv_indices: torch.Tensor, kv_last_page_lens: torch.Tensor,
        max_seqlen_q: int, page_size: int = 1, nhead_kv: int = 1, sm_scale: float | None = None,
        logit_cap: float = 0.0, work_meta_data: torch.Tensor | None = None,
        work_indptr: torch.Tensor | None = None, work_info_set: torch.Tensor | None = None,
        reduce_indptr: torch.Tensor | None = None, reduce_final_map: torch.Tensor | None = None,
        reduce_partial_map: torch.Tensor | None = None, q_scale: torch.Tensor | None = None,
        kv_scale: torch.Tensor | None = None, causal: bool = True,
        num_kv_splits: int | None = None, intra_batch_mode: bool = False,
    ) -> tuple[torch.Tensor, None]:
        del num_kv_splits, intra_batch_mode  # speed, and of a plan that is made
        heads, scale = q.shape[1], q.shape[2]**-0.5 if sm_scale is None else sm_scale
        if heads != _HEADS or logit_cap:
            raise NotImplementedError(f"a decode of {heads} heads with a cap of {logit_cap:g} is "
                                      f"not served in a run without AITER; expected {_HEADS} and 0")
        lists = qo_indptr, kv_indptr, kv_indices, kv_last_page_lens
        if work_meta_data is None or reduce_indptr is None or reduce_partial_map is None:
            _unplanned(q, kv_buffer, o, lists, (max_seqlen_q, page_size, nhead_kv), scale, arch)
            return o, None
        rows = reduce_partial_map.shape[0] * max_seqlen_q
        data = torch.empty((rows, 1, heads, o.shape[2]), dtype=torch.float32, device=q.device)
        lse = torch.empty((rows, 1, heads, 1), dtype=torch.float32, device=q.device)
        kernels.decode_stage1(
            q, kv_buffer, *lists, None, work_meta_data, work_indptr, work_info_set, max_seqlen_q,
            page_size, nhead_kv, scale, data, lse, o, None, q_scale, kv_scale, causal, arch=arch)
        kernels.reduce(data, lse, reduce_indptr, reduce_final_map, reduce_partial_map, o, arch=arch)
        return data, None

    module: Any = importlib.import_module("aiter.mla")
    module.mla_decode_fwd = plain.counted("mla_decode_fwd", mla_decode_fwd)


def _unplanned(
    q: torch.Tensor, kv_buffer: torch.Tensor, o: torch.Tensor,
    lists: tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor],
    sizes: tuple[int, int, int], scale: float, arch: str,
) -> None:
    """One split of each request. Four rows of a request are the kernel's output itself."""
    splits = torch.arange(lists[0].shape[0], dtype=torch.int32, device=q.device)
    rows, heads = q.shape[:2]
    lse = torch.empty((rows, 1, heads, 1), dtype=torch.float32, device=q.device)
    direct = sizes[0] == _DIRECT
    data = o.view(rows, 1, heads, -1) if direct else torch.empty(
        (rows, 1, heads, o.shape[2]), dtype=torch.float32, device=q.device)
    kernels.decode_stage1(q, kv_buffer, *lists, splits, None, None, None, *sizes, scale, data, lse,
                          o, arch=arch)
    if not direct:
        o.copy_(data[:, 0].to(o.dtype))


def _varlen(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
    max_seqlen_k: int, min_seqlen_q: int = 0, dropout_p: float = 0.0,
    softmax_scale: float | None = None, logits_soft_cap: float = 0.0, causal: bool = False,
    window_size: tuple[int, int] = (-1, -1), return_lse: bool = False, out: Any = None,
) -> None:
    """What engines call flash_attn_varlen_func with."""
