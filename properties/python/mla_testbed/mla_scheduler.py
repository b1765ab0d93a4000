"""What an engine tells its builder of a step: rows, keys and blocks of each request.

mla_capture adds it to a bundle, so that `mla-testbed check` can hold the builder's lists against
it. Lists that agree with each other may still be those of other requests. A launch with a plan
belongs to the step whose builder called the planner, one without to the step whose builder made
its lists. Needs nothing but the standard library; copy it beside mla_capture.py. An engine whose
builder has other parameters is left alone, and stderr says so once.
"""
from __future__ import annotations

import collections
import functools
import importlib.abc
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

#: What a bundle calls the lists.
TOLD_LISTS = ("scheduler_seq_lens", "scheduler_query_lens", "scheduler_block_table")
#: Steps of a thread that are remembered for launches without a plan: a draft's are between them.
_REMEMBERED = 8
_told = threading.local()


def of_step() -> tuple[dict[str, Any], dict[str, Any]]:
    """Scalars and tensors of the step that this thread's builder is at; empty outside of one. It
    reads lengths from the device: only for a step that is dumped."""
    step = getattr(_told, "step", None)
    return ({}, {}) if step is None else _read(*step)


def of_launch(is_its: Callable[[Any], bool]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of the latest step whose kv_indptr the launch has, by `is_its`; empty if no builder
    of this thread made it."""
    for step, kv_indptr in reversed(getattr(_told, "made", ())):
        if is_its(kv_indptr):
            return _read(*step)
    return {}, {}


def _read(where: str, read: Callable[[], tuple[dict[str, Any], dict[str, Any]]]
          ) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        scalars, tensors = read()
    except (TypeError, KeyError, AttributeError) as e:
        _unknown(where, f"{type(e).__name__}: {e}")
        return {}, {}
    return scalars, tensors


def _columns(lengths: Any, block_size: int) -> int:
    """Of a block table: those that some request uses."""
    return -(-int(lengths.max()) // block_size) if lengths.shape[0] else 0


def _vllm_decode(builder: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of AiterMLAMetadataBuilder._build_decode: the requests that decode, a graph's padding among
    them, and the table in the blocks of the kernel."""
    starts, lengths = arguments["query_start_loc_device"], arguments["seq_lens_device"]
    block_size = int(builder.kv_cache_spec.block_size)
    return ({"scheduler_block_size": block_size},
            {"scheduler_seq_lens": lengths, "scheduler_query_lens": starts[1:] - starts[:-1],
             "scheduler_block_table":
                 arguments["block_table_tensor"][:, :_columns(lengths, block_size)]})


def _sglang_step(backend: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of AiterAttnBackend.init_forward_metadata: decodes and verifications."""
    batch = arguments["forward_batch"]
    rows = int(getattr(batch.spec_info, "draft_token_num", 0))
    return _sglang(backend, batch.forward_mode, batch.spec_info, rows, batch.seq_lens,
                   batch.req_pool_indices)


def _sglang_graph(backend: Any, arguments: dict[str, Any]
                  ) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of AiterAttnBackend._apply_cuda_graph_metadata: what a replay will read, with its padding."""
    return _sglang(backend, arguments["forward_mode"], arguments["spec_info"],
                   int(backend.num_draft_tokens or 0), arguments["seq_lens"],
                   arguments["req_pool_indices"])


def _sglang(backend: Any, mode: Any, spec: Any, rows: int, keys: Any, places: Any
            ) -> tuple[dict[str, Any], dict[str, Any]]:
    """The table is one slot for each token. A draft model's decode gets lists that were made
    elsewhere, and lengths that are those before its drafts: of it nothing is told."""
    verify = mode.is_target_verify()
    if not verify and (spec is not None or not mode.is_decode_or_idle()):
        return {}, {}
    rows = rows if verify else 1
    keys = keys + rows if verify else keys
    return ({"scheduler_block_size": 1},
            {"scheduler_seq_lens": keys, "scheduler_query_lens": keys * 0 + rows,
             "scheduler_block_table": backend.req_to_token[places, :_columns(keys, 1)]})


Reader = Callable[[Any, dict[str, Any]], tuple[dict[str, Any], dict[str, Any]]]
#: The kv_indptr that a builder made, from it and what it returned.
Made = Callable[[Any, Any], Any]
_SGLANG = "sglang.srt.layers.attention.aiter_backend", "AiterAttnBackend"
#: Module, class and method of a builder, what to read from its arguments, and what it made.
_BUILDERS: tuple[tuple[str, str, str, Reader, Made], ...] = (
    ("vllm.v1.attention.backends.mla.rocm_aiter_mla", "AiterMLAMetadataBuilder", "_build_decode",
     _vllm_decode, lambda _, made: made.paged_kv_indptr),
    (*_SGLANG, "init_forward_metadata", _sglang_step,
     lambda backend, _: backend.forward_metadata.kv_indptr),
    (*_SGLANG, "_apply_cuda_graph_metadata", _sglang_graph,
     lambda backend, _: backend.forward_metadata.kv_indptr),
)


def watch() -> None:
    """Builders that are loaded, now or later, tell of their steps."""
    for module, owner, method, read, made in _BUILDERS:
        after_import(module, functools.partial(_around, owner, method, read, made))


def _around(owner: str, method: str, read: Reader, made: Made, module: ModuleType) -> None:
    found = getattr(getattr(module, owner, None), method, None)
    if found is None:
        _unknown(module.__name__, f"there is no {owner}.{method}")
        return
    signature = inspect.signature(found)

    @functools.wraps(found)
    def told(builder: Any, *args: Any, **kwargs: Any) -> Any:
        def now() -> tuple[dict[str, Any], dict[str, Any]]:
            return read(builder, signature.bind(builder, *args, **kwargs).arguments)

        step = _told.step = f"{module.__name__}.{owner}.{method}", now
        try:
            result = found(builder, *args, **kwargs)
        finally:
            _told.step = None
        _remember(step, builder, result, made)
        return result

    setattr(getattr(module, owner), method, told)


def _remember(step: tuple[str, Any], builder: Any, result: Any, made: Made) -> None:
    """Holds the list too, so that no other one comes to lie at its address."""
    try:
        kv_indptr = made(builder, result)
    except AttributeError as e:
        _unknown(step[0], f"{type(e).__name__}: {e}")
        return
    if not hasattr(_told, "made"):
        _told.made = collections.deque(maxlen=_REMEMBERED)
    if kv_indptr is not None:
        _told.made.append((step, kv_indptr))


@functools.cache
def _unknown(where: str, why: str) -> None:
    print(f"mla_scheduler: {where}: {why}; its bundles do not say what the scheduler said",
          file=sys.stderr)


class _After(importlib.abc.MetaPathFinder):
    """Calls `then` once, with the module of this name, when it has been imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(self, name: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> Any:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader, then = spec.loader, self._then
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            then(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """Calls `then` with the module: now, or as soon as something has imported it."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _After(name, then))
