"""Where versions of SGLang differ in what a backend is given. 0.5.12 is the oldest that was run."""

from __future__ import annotations

import dataclasses
import importlib.util
import types
from typing import Any

from .batch import Batch

_published: list[tuple[dict[str, Any], Any]] = []
_forced: list[Any] = []


def publish(fields: dict[str, Any]) -> Any:
    """Makes these server arguments those of the process; the record that a model runner has."""
    if not has_context():
        _one_group()
        return types.SimpleNamespace(**fields)  # the runner's record is all that is read
    from sglang.srt.runtime_context import get_context, get_parallel

    if not _published or _published[-1][0] != fields:
        arguments = get_context().override_server_args(**fields).install()
        _published[:] = [(fields, arguments)]
    _one_rank(get_parallel())
    return _published[-1][1]


def dp_attention(enabled: bool) -> None:
    """What initialize_dp_attention makes of the server argument, without its process groups."""
    if has_context():
        from sglang.srt.runtime_context import get_flags

        get_flags().dp.enabled = enabled
        return
    from sglang.srt.layers import dp_attention as module

    module._ENABLE_DP_ATTENTION_FLAG = enabled


def has_context() -> bool:
    """Whether this version keeps its configuration in runtime_context."""
    return importlib.util.find_spec("sglang.srt.runtime_context") is not None


def _one_group() -> None:
    """The process group of one rank, which older versions ask for its size."""
    from sglang.srt.distributed import parallel_state

    if parallel_state._ATTN_TP is None:
        parallel_state._ATTN_TP = types.SimpleNamespace(world_size=1, rank_in_group=0)


def _one_rank(parallel: Any) -> None:
    """Widths and places that SGLang otherwise asks process groups for."""
    for name, value in (("attn_tp_size", 1), ("attn_dcp_size", 1), ("attn_dcp_rank", 0)):
        try:
            getattr(parallel, name)
        except (RuntimeError, AssertionError):
            forced = parallel.override(**{name: value})
            forced.__enter__()  # for the rest of the process
            _forced.append(forced)


def translator(runner: types.SimpleNamespace, page_size: int) -> Any:
    """Of versions that have one; it changes nothing for a pool of one kind."""
    if importlib.util.find_spec("sglang.srt.mem_cache.kv_index_translator") is None:
        return None
    from sglang.srt.mem_cache.kv_index_translator import KVIndexTranslator

    return KVIndexTranslator(
        req_to_token=runner.req_to_token_pool.req_to_token,
        token_to_kv_pool_allocator=runner.token_to_kv_pool_allocator,
        token_to_kv_pool=runner.token_to_kv_pool, page_size=page_size, device="cuda")


def forward_batch(fields: dict[str, Any], pools: dict[str, Any]) -> Any:
    """SGLang's own ForwardBatch; the pools where this version keeps them there."""
    from sglang.srt.model_executor.forward_batch_info import ForwardBatch

    known = {field.name for field in dataclasses.fields(ForwardBatch)}
    return ForwardBatch(**fields, **{name: pools[name] for name in pools if name in known})


def graph_metadata(backend: Any, made: Batch, batch: Any, *, in_capture: bool) -> None:
    """Prepares a capture, or a replay."""
    if hasattr(backend, "init_forward_metadata_out_graph"):
        backend.init_forward_metadata_out_graph(batch, in_capture=in_capture)
        return
    common = {"bs": len(made.rows), "req_pool_indices": made.pool_rows, "seq_lens": made.seq_lens,
              "encoder_lens": None, "forward_mode": batch.forward_mode,
              "spec_info": batch.spec_info}
    if in_capture:
        backend.init_forward_metadata_capture_cuda_graph(num_tokens=sum(made.rows), **common)
    else:
        backend.init_forward_metadata_replay_cuda_graph(
            seq_lens_sum=made.seq_lens_sum, seq_lens_cpu=made.seq_lens_cpu, **common)
