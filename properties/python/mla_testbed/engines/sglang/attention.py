"""The backend's own forward over a step that it built."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from ..decode.built import PADDING, Built
from ..step import EngineStep
from . import batch, server
from .batch import Mode

SCALE = 1 / 192 ** 0.5


@dataclasses.dataclass(frozen=True)
class Kept:
    """What a forward needs of a build.

    Attributes:
        batch: its tensors.
        metadata: SGLang's ForwardMetadata.
        forward_batch: SGLang's ForwardBatch.
        chosen: of sparse MLA: the selection of SGLang's indexer; None: it is drawn.
    """

    batch: batch.Batch
    metadata: Any
    forward_batch: Any
    chosen: torch.Tensor | None = None


def attend(
    backend: Any, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
) -> np.ndarray:
    """forward_decode or forward_extend; arguments and result as of decode.Engine."""
    kept: Kept = built.metadata
    fill(backend, cache)
    live = np.repeat([request != PADDING for request in built.requests], kept.batch.rows)
    rows = np.zeros((live.size, *q.shape[1:]), q.dtype)
    rows[live] = q
    backend.forward_metadata = kept.metadata
    out = _forward(backend, kept, layer_of(step), _tensor(rows, backend))
    values: np.ndarray = out.reshape(live.size, step.heads, -1).float().cpu().numpy()
    return values[live]


def prefill(
    backend: Any, step: EngineStep, built: Built, qkv: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> np.ndarray:
    """forward_extend of a prefill without a prefix, which attends to its own keys.

    Args:
        built: of a batch in Mode.EXTEND.
        qkv: (rows, heads, 192), (rows, heads, 192) and (rows, heads, 128), rounded to bf16.

    Returns:
        (rows, heads, 128) float32.
    """
    kept: Kept = built.metadata
    fill(backend, empty_cache(step))
    backend.forward_metadata = kept.metadata
    q, k, v = (torch.from_numpy(array).to("cuda").to(torch.bfloat16) for array in qkv)
    layer = layer_of(step)
    layer.qk_head_dim, layer.v_head_dim, layer.tp_k_head_num = q.shape[-1], v.shape[-1], step.heads
    out = backend.forward_extend(q, k, v, layer, kept.forward_batch, save_kv_cache=False)
    values: np.ndarray = out.reshape(v.shape).float().cpu().numpy()
    return values


def _forward(backend: Any, kept: Kept, layer: Any, q: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor
    if kept.batch.mode is Mode.DECODE:
        made = backend.forward_decode(
            q, None, None, layer, kept.forward_batch, save_kv_cache=False)
    else:
        k = torch.zeros((q.shape[0], 1, server.WIDTH), dtype=torch.bfloat16, device="cuda")
        made = backend.forward_extend(
            q, k, k[..., :server.KV_LORA_RANK], layer, kept.forward_batch, save_kv_cache=False)
    return made


def layer_of(step: EngineStep, heads: int | None = None) -> Any:
    """SGLang's own layer, with the heads of the step or of all ranks."""
    from sglang.srt.layers.radix_attention import RadixAttention

    layer = RadixAttention(
        num_heads=heads or step.heads, head_dim=server.WIDTH, scaling=SCALE, num_kv_heads=1,
        layer_id=0, v_head_dim=server.KV_LORA_RANK)
    if step.dtype_kv == "fp8":
        layer.k_scale = torch.tensor([step.kv_scale], dtype=torch.float32, device="cuda")
    return layer


def fill(backend: Any, cache: np.ndarray) -> None:
    """Gives SGLang's pool a buffer with these bits, in the dtype and shape of its own."""
    pool = backend.mla_testbed_runner.token_to_kv_pool
    old = pool.kv_buffer[0]
    made = torch.from_numpy(cache.view(np.uint8).reshape(len(cache), -1)).to("cuda")
    pool.kv_buffer[0] = made.view(old.dtype).reshape(len(cache), *old.shape[1:])


def empty_cache(step: EngineStep) -> np.ndarray:
    """Bits of zeros in the dtype of the step's cache."""
    width = np.uint16 if step.dtype_kv == "bf16" else np.uint8
    return np.zeros((step.pool_blocks * step.block_size, server.WIDTH), width)


def _tensor(bits: np.ndarray, backend: Any) -> torch.Tensor:
    made = torch.from_numpy(bits.view(np.uint8 if bits.itemsize == 1 else np.int16)).to("cuda")
    moved: torch.Tensor = made.view(
        torch.bfloat16 if bits.itemsize == 2 else backend.kv_cache_dtype)
    return moved
