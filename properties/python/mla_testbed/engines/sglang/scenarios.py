"""What more than one batch, or more than one rank, does to SGLang's backend."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..step import EngineStep, steps_of
from . import attention, server, sparse_indexer, versions
from .adapter import SglangEngine, server_of
from .releases import SUPPORTED

#: Bytes of a key of an indexer: 128 codes and a scale.
_INDEX_ROW = 132


class NotRun(Exception):
    """This version, or this machine, lacks what a scenario is about; the message says what."""


class Shown(NamedTuple):
    """A defect that happened.

    Attributes:
        case: canonical, or "" where no batch is involved.
        what: a sentence.
        other: something else went wrong than what is known.
    """

    case: str
    what: str
    other: bool = False


def two_backends(engine: SglangEngine) -> Shown | None:
    """The plan of a backend, alone and after another one was constructed."""
    for first, second in (("16;dtype=bf16/bf16", "32;dtype=bf16/bf16"),
                          ("32;dtype=fp8/fp8", "16;dtype=fp8/fp8")):
        before, step = (_step(engine, f"2q1s300;heads={fields}") for fields in (first, second))
        alone, after = _planned(engine, None, step), _planned(engine, before, step)
        if alone != after:
            return Shown(step.case, f"the constructor for heads={first} leaves its choices in the "
                         f"module: alone this backend {alone}, after it this backend {after}")
    return None


def _planned(engine: SglangEngine, before: EngineStep | None, step: EngineStep) -> str:
    if before is None:
        engine.backend = engine.backend_of([step])
    else:
        engine.backend_of([before])
        engine.backend = engine.another_backend(server_of([step]))
    built = engine.build(step)
    if built.bundle is None or not built.planned:
        return "makes no plan"
    scalars = built.bundle.scalars
    return (f"plans with fast_mode={scalars['fast_mode']}, "
            f"intra_batch_mode={scalars['intra_batch_mode']}")


_CASE = re.compile(r"MLA_REDUCE_CASE_[EI]F\(NUM_HEAD, (\d+), HEAD_DIM, (\d+),")


def aged_table(engine: SglangEngine) -> Shown | None:
    """SGLang's copy of the head counts of AITER's reduce, against the source of this AITER."""
    table: dict[int, frozenset[int]] = getattr(engine.module, "_MLA_REDUCE_V1_HEADS", {})
    if not table:
        raise NotRun(f"SGLang {engine.version} has no such table")
    from aiter.jit.core import AITER_CSRC_DIR

    with open(f"{AITER_CSRC_DIR}/kernels/mla/reduce.cu", encoding="utf-8") as source:
        cases = {(int(dim), int(heads)) for heads, dim in _CASE.findall(source.read())}
    missing = [f"{heads} heads at {dim} values" for dim, heads in sorted(cases)
               if dim in table and heads not in table[dim]]
    return Shown("", "_MLA_REDUCE_V1_HEADS lacks " + ", ".join(missing)) if missing else None


def result_of_a_rank(engine: SglangEngine) -> Shown | None:
    """What SGLang's model does with the result of a decode where two ranks share a context."""
    if not versions.has_context():
        raise NotRun(f"SGLang {engine.version} has no ranks that share a context")
    step = _step(engine, "3q1s400;heads=16;dtype=fp8/fp8")
    with _two_ranks():
        engine.backend = engine.backend_of([step])
        built = engine.build(step)
        kept: attention.Kept = built.metadata
        q = torch.zeros((step.requests, 2 * step.heads, server.WIDTH), device="cuda")
        q = q.to(engine.backend.kv_cache_dtype)  # the heads of both ranks
        layer = attention.layer_of(step, heads=2 * step.heads)
        attention.fill(engine.backend, attention.empty_cache(step))
        try:
            found = engine.backend.forward_decode(
                q, None, None, layer, kept.forward_batch, save_kv_cache=False)
        except (RuntimeError, AssertionError) as e:
            return Shown(step.case, f"forward_decode raised {type(e).__name__}: {e}", other=True)
    try:
        _out, _lse = found
    except ValueError as e:
        return Shown(step.case, "forward_decode returned one tensor of shape "
                     f"{list(found.shape)}, the model unpacks (out, lse): ValueError: {e}")
    return None


def moved_index_keys(engine: SglangEngine) -> Shown | None:
    """A pool with an indexer's cache moves one token; pages of 64, as SGLang makes them for it."""
    if not sparse_indexer.there(engine.version, attends=engine.attends):
        raise NotRun(f"the pool is known of {SUPPORTED} alone")
    made = server.Server(heads=16, fp8_cache=False, page_size=64, draft_tokens=None, max_requests=1,
                         context=64)
    server.publish(made)
    pool = sparse_indexer.pool_of(made)
    cache = pool.get_index_k_with_scale_buffer(0)
    cache.copy_(torch.arange(cache.numel(), device="cuda").remainder(251).view(cache.shape))
    before = cache.clone()
    try:
        pool.move_kv_cache(*(torch.tensor([slot], device="cuda") for slot in (1, 0)))
        changed = int((cache != before).sum())
        if changed <= _INDEX_ROW:
            return None
        found = f"changed {changed} bytes of the indexer's cache; a key has {_INDEX_ROW}"
        pool.move_kv_cache(*(torch.tensor([slot], device="cuda") for slot in (70, 64)))
    except IndexError as e:
        return Shown("", f"a move of slot 0 to 1 {found}, and one of 64 to 70 raised {e}")
    return Shown("", f"a move of slot 0 to 1 {found}")


@contextlib.contextmanager
def _two_ranks() -> Iterator[None]:
    """The first of two ranks that share a context, as SGLang's own code is told of it."""
    from sglang.srt.runtime_context import get_parallel

    fields: dict[str, Any] = {"attn_dcp_size": 2, "dcp_size": 2, "dcp_enabled": True,
                              "attn_dcp_rank": 0, "dcp_rank": 0}
    with get_parallel().override(**fields):
        yield


def _step(engine: SglangEngine, text: str) -> EngineStep:
    machine = engine.machine
    return steps_of(f"mla1:{text};arch={machine.arch};cu={machine.compute_units}")[0]
