"""The server that one backend belongs to: its arguments, its model and its pools.

Everything is SGLang's own but the model runner: of that, AiterAttnBackend reads a few attributes,
which are here without a model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from . import machine, versions

KV_LORA_RANK, ROPE = 512, 64
WIDTH = KV_LORA_RANK + ROPE
#: DeepSeek's width of a query head before absorption: 128 without positions and 64 with them.
HEAD_DIM, V_HEAD_DIM = 192, 128
#: Columns of `req_to_token` beyond the longest context, as in SGLang's model runner.
_EXTRA_CONTEXT = 4


@dataclasses.dataclass(frozen=True)
class Server:
    """One configuration of a server.

    Attributes:
        heads: query heads of this rank.
        fp8_cache: whether the cache is fp8; otherwise it is bf16.
        page_size: tokens of a page of SGLang's allocator.
        draft_tokens: rows that a verification has, the last token included; None: no speculation.
        max_requests: rows of the request pool, the one of padding not counted.
        context: longest context in tokens.
        draft_steps: steps of the draft model; None: no speculation.
        dp_attention: whether ranks share the requests out between them (enable_dp_attention).
    """

    heads: int
    fp8_cache: bool
    page_size: int
    draft_tokens: int | None
    max_requests: int
    context: int
    draft_steps: int | None = None
    dp_attention: bool = False


def publish(server: Server, more: Mapping[str, Any] | None = None) -> Any:
    """Makes the server's arguments those of the process; more: further ones, by name."""
    versions.dp_attention(server.dp_attention)
    return versions.publish({
        "page_size": server.page_size, "speculative_num_draft_tokens": server.draft_tokens,
        "speculative_num_steps": server.draft_steps, **(more or {})})


def cache_dtype(server: Server) -> torch.dtype:
    """As SGLang chooses it for the architecture."""
    fp8 = importlib.import_module(machine.BACKEND).fp8_dtype
    found: torch.dtype = fp8 if server.fp8_cache else torch.bfloat16
    return found


def runner(server: Server, arguments: Any) -> types.SimpleNamespace:
    """What AiterAttnBackend reads of a model runner, with SGLang's own pools."""
    from sglang.srt.configs.model_config import AttentionArch
    from sglang.srt.mem_cache.memory_pool import MLATokenToKVPool, ReqToTokenPool

    drafts = server.draft_tokens or 0
    requests = ReqToTokenPool(
        size=server.max_requests, max_context_len=server.context + drafts + _EXTRA_CONTEXT,
        device="cuda", enable_memory_saver=False)
    cache = MLATokenToKVPool(  # as small as it can be: a forward puts its own buffer into it
        size=server.page_size, page_size=server.page_size,
        dtype=cache_dtype(server), kv_lora_rank=KV_LORA_RANK, qk_rope_head_dim=ROPE, layer_num=1,
        device="cuda", enable_memory_saver=False)
    model = types.SimpleNamespace(
        dtype=torch.bfloat16, is_multimodal=False, num_attention_heads=server.heads,
        head_dim=HEAD_DIM, v_head_dim=V_HEAD_DIM, attention_arch=AttentionArch.MLA,
        context_len=server.context, get_num_kv_heads=lambda tp: server.heads)
    made = types.SimpleNamespace(
        model_config=model, device="cuda", dtype=torch.bfloat16, sliding_window_size=None,
        kv_cache_dtype=cache_dtype(server), req_to_token_pool=requests, token_to_kv_pool=cache,
        token_to_kv_pool_allocator=types.SimpleNamespace(get_kvcache=lambda: cache),
        decode_attention_backend_str="aiter", server_args=arguments,
        spec_algorithm=types.SimpleNamespace(is_frozen_kv_mtp=lambda: False))
    made.kv_index_translator = versions.translator(made, server.page_size)
    return made


@contextlib.contextmanager
def poisoned(word: int) -> Iterator[None]:
    """Inside, memory that torch.empty gives holds `word` (integers) or NaN, as a GPU's may."""
    empty = torch.empty

    def filled(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = empty(*args, **kwargs)
        return made.fill_(float("nan") if made.is_floating_point() else
                          word if made.dtype in (torch.int32, torch.int64) else 0)

    torch.empty = filled  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.empty = empty
