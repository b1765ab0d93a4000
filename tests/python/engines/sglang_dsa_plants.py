"""Defects of a whole SGLang whose model has an indexer, each planted around its own code.

    python sglang_dsa_plants.py eager|graphs    # in an environment with SGLang, AITER_SRC set
"""

import importlib
import sys

INDEXER = "sglang.srt.layers.attention.dsa.dsa_indexer"
BACKEND = "sglang.srt.layers.attention.dsa_backend"


def around(place, change):
    """Replaces "module:Class.name" by what `change` makes of it."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    setattr(owner, name, change(getattr(owner, name)))


def position_one_late(whole):
    """The indexer's rotary position of a token is the next one's."""
    around(f"{INDEXER}:Indexer._get_q_k_bf16", lambda real: (
        lambda indexer, q, x, positions, *rest, **named: real(
            indexer, q, x, positions + 1, *rest, **named)))


def row_does_not_see_itself(whole):
    """top-k ends before the row's own key, where a row selects."""
    kernels = importlib.import_module("sgl_kernel")
    real = kernels.fast_topk_transform_fused
    kernels.fast_topk_transform_fused = lambda score, lengths, **named: real(
        score=score, lengths=lengths - (lengths > named["topk"]).to(lengths.dtype), **named)


def stale_selection(whole):
    """A step gets the selection of the step before, where it has as many rows."""
    def change(real):
        before = {}

        def forward(indexer, *rest, **named):
            made = real(indexer, *rest, **named)
            if made is None:
                return made
            old = before.get(indexer.layer_id, made)
            before[indexer.layer_id] = made.clone()
            return old if old.shape == made.shape else made

        return forward

    around(f"{INDEXER}:Indexer.forward_cuda", change)


def wrong_scale(whole):
    """The attention over selected keys scales its scores as for 576 elements, not for 192."""
    def change(real):
        def kernel(*lists, sm_scale, **named):
            return real(*lists, sm_scale=576**-0.5, **named)

        return kernel

    around(f"{BACKEND}:mla_decode_fwd", change)


def exchanged_pages(whole):
    """The indexer's page table has the first two pages of each request the other way round."""
    def change(real):
        def pages(metadata):
            table = real(metadata).clone()
            table[:, :2] = table[:, :2].flip(1)
            return table

        return pages

    around("sglang.srt.layers.attention.dsa.dsa_indexer_metadata:"
           "DSAIndexerMetadata.get_page_table_64", change)


def index_key_of_next_row(whole):
    """The indexer's cache has each key in the slot of the next row."""
    around(f"{INDEXER}:indexer_k_quant_and_cache", lambda real: (
        lambda k, cache, slots, *rest, **named: real(k, cache, slots.roll(1), *rest, **named)))


def slots_of_next_request(whole):
    """top-k reads the slots of the next request."""
    kernels = importlib.import_module("sgl_kernel")
    real = kernels.fast_topk_transform_fused
    kernels.fast_topk_transform_fused = lambda page_table_size_1, **named: real(
        page_table_size_1=page_table_size_1.roll(1, 0), **named)


def to_layers_without_indexer(change):
    """What such a layer is handed of the selection of the layer before."""
    def around_forward(real):
        def forward(attention, *rest, prev_topk_indices=None, **named):
            if attention.skip_topk and prev_topk_indices is not None:
                prev_topk_indices = change(attention.layer_id, prev_topk_indices)
            return real(attention, *rest, prev_topk_indices=prev_topk_indices, **named)

        return forward

    around("sglang.srt.models.deepseek_v2:DeepseekV2AttentionMLA.forward", around_forward)


def shared_selection_of_step_before(whole):
    """A layer without an indexer keeps the selection while there are as many rows."""
    kept = {}
    to_layers_without_indexer(lambda layer, found: kept.setdefault(
        (layer, *found.shape), found.clone()))


def shared_selection_of_next_row(whole):
    """Between two layers another request's row comes into the selection."""
    to_layers_without_indexer(lambda layer, found: found.roll(1, 0))


_DSA = "e2e1:arch=gfx950;model=dsa;block=64;requests=2;tokens=3;longest=150;layers=1"
_GRAPHS = _DSA.replace("requests=2", "requests=3") + ";graphs=1"
_SHARE = _DSA.replace("layers=1", "layers=2;share=2")
GROUPS = {
    "share": dict.fromkeys(("none", "shared_selection_of_step_before",
                            "shared_selection_of_next_row"), _SHARE),
    "eager": dict.fromkeys((
        "none", "position_one_late", "row_does_not_see_itself", "stale_selection", "wrong_scale",
        "exchanged_pages", "index_key_of_next_row", "slots_of_next_request"), _DSA),
    "graphs": dict.fromkeys(("none", "exchanged_pages"), _GRAPHS),
}


def main(group):
    """Serves each scenario of a group in a fork of this process."""
    import e2e_forks  # noqa: PLC0415
    from mla_testbed.engines.sglang import whole  # noqa: PLC0415

    e2e_forks.serve(whole, globals(), GROUPS[group],
                    lambda: importlib.import_module("sglang.srt.managers.scheduler"))


if __name__ == "__main__":
    main(sys.argv[1])
