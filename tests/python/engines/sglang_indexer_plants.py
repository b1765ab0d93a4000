"""SGLang's indexer under the judge with defects planted around its own code; in its environment.

    python sglang_indexer_plants.py CASE ...
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from unittest import mock

#: Plant -> properties that catch it.
PLANTS = {
    "SlotOfNextRow": "SP-03", "ScaleOfNextKey": "SP-02 SP-03 SP-04", "GathersDoubleScales": "SP-05",
    "ExchangedPages": "SP-05 SP-06", "WeightsOfNextRow": "SP-06", "RowDoesNotSeeItself": "SP-06",
    "ScoresNothing": "SP-06", "StaleSelection": "SP-11", "SlotsOfNextRequest": "SP-10",
    "TakesTheFirst": "SP-11", "HalfScale": "P05",
}
DSA = "sglang.srt.layers.attention.dsa."


def _scales(cache):
    """The bytes of the scales of each page."""
    pages, size, _ = cache.shape
    return cache.view(importlib.import_module("torch").uint8).view(pages, -1)[:, size * 128:]


def _writer(plant, real):
    def next_scales(k, cache, *more, **named):
        real(k, cache, *more, **named)
        tail = _scales(cache)
        tail.copy_(tail.roll(4, 1))

    def next_slots(k, cache, slots, *more, **named):
        real(k, cache, slots.roll(1), *more, **named)

    return {"SlotOfNextRow": next_slots, "ScaleOfNextKey": next_scales}[plant]


def _indexer(engine, plant):
    """Owner, name and what is put there, of plants in the indexer and its metadata."""
    module = importlib.import_module(DSA + "dsa_indexer")
    metadata = importlib.import_module(DSA + "dsa_indexer_metadata").DSAIndexerMetadata
    if plant in ("SlotOfNextRow", "ScaleOfNextKey"):
        return module, "indexer_k_quant_and_cache", _writer(plant, module.indexer_k_quant_and_cache)
    if plant == "WeightsOfNextRow":
        real = module.aiter_paged_mqa_logits
        return module, "aiter_paged_mqa_logits", lambda q, cache, weights, *a, **n: real(
            q, cache, weights.roll(1, 0).contiguous(), *a, **n)
    if plant == "ScoresNothing":
        return module.Indexer, "_should_skip_logits_computation", lambda *_: True
    if plant == "ExchangedPages":
        def pages(of, real=metadata.get_page_table_64):
            table = real(of).clone()
            table[:, :2] = table[:, :2].flip(1)
            return table
        return metadata, "get_page_table_64", pages
    if plant == "RowDoesNotSeeItself":
        real = metadata.get_seqlens_expanded
        return metadata, "get_seqlens_expanded", lambda of: (real(of) - 1).clamp(min=1)
    accessor = importlib.import_module("sglang.kernels.ops.attention.dsa.index_buf_accessor")
    gather = accessor.cp_gather_indexer_k_quant_cache

    def doubled(cache, codes, scales, *more, **named):
        gather(cache, codes, scales, *more, **named)
        of = scales.view(importlib.import_module("torch").float32)
        of.mul_(2)

    return accessor, "cp_gather_indexer_k_quant_cache", doubled


def _selection(engine, plant):
    """Of plants in top-k, fused or in torch, and in the attention."""
    backend = importlib.import_module(DSA + "dsa_topk_backend")
    kernels = importlib.import_module("sgl_kernel")
    fused = kernels.fast_topk_transform_fused
    if plant == "SlotsOfNextRequest":
        return kernels, "fast_topk_transform_fused", lambda page_table_size_1, **named: fused(
            page_table_size_1=page_table_size_1.roll(1, 0), **named)
    if plant == "TakesTheFirst":
        return kernels, "fast_topk_transform_fused", lambda score, **named: fused(
            score=-score.cumsum(1).mul(0).add(1).cumsum(1), **named)
    if plant == "StaleSelection":
        before = []

        def stale(real, *given, **named):
            made = real(*given, **named)
            before.append(made)
            old = before[-2:][0]
            return old if old.shape == made.shape else made

        select = backend.DSATopKBackend.topk_transform
        return backend.DSATopKBackend, "topk_transform", lambda *g, **n: stale(select, *g, **n)
    attend = engine._kernel
    return engine, "_kernel", lambda *lists, sm_scale, **named: attend(
        *lists, sm_scale=sm_scale / 2, **named)


def main(cases):
    """Prints the properties that each plant, and none, makes fail: one import for all of them."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where SGLang is
    from mla_testbed.engines.judge import judge  # noqa: PLC0415
    from mla_testbed.engines.sglang.sparse_adapter import SglangSparse  # noqa: PLC0415
    from mla_testbed.engines.sparse.kind import Sparse  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = SglangSparse(Machine("gfx942", 304))
    last = {"StaleSelection", "SlotsOfNextRequest", "TakesTheFirst", "HalfScale"}
    for plant in ("", *PLANTS):
        place = (_selection if plant in last else _indexer)(engine, plant) if plant else None
        with mock.patch.object(*place) if place else mock.patch.dict({}):
            found = [judge(Sparse(), engine, case, attend=True) for case in cases]
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found}),
                              [f.what for j in found for f in j.findings][:3]]) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
