"""Defects of what whole engines write to the cache, and of steps from graphs, planted around vLLM.

    python vllm_e2e_writes.py GROUP [PLANT…]

As vllm_e2e_plants.py, which has the plants of reports and of builders.
"""

import functools
import importlib
import sys

import torch

MLA = "vllm.v1.attention.backends.mla.rocm_aiter_mla"
OPS = "vllm._custom_ops"


def around(place, change):
    """Replaces "module:Class.function" or "module:function" by what change() makes of it."""
    module, _, path = place.partition(":")
    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    setattr(owner, name, change(getattr(owner, name)))


def none_scaled(whole):
    """The scale of the checkpoint is loaded, which vLLM does not do (VLLM-19). On gfx942."""

    def loaded(real):
        def process(self, *rest):
            real(self, *rest)
            self._k_scale.fill_(2 * SCALE)
            self._k_scale_float = float(2 * SCALE)

        return process

    around("vllm.model_executor.layers.attention.mla_attention:"
           "MLAAttention.process_weights_after_loading", loaded)


def writer_of_other_scale(whole):
    """The cache is written with twice the scale that the kernels read it with."""
    none_scaled(whole)
    around(OPS + ":concat_and_cache_mla", lambda real: lambda *rest, scale, **named: real(
        *rest, scale=scale * 2, **named))


def reader_without_scale(whole):
    """The decode kernel reads the cache as if its scale were 1."""
    none_scaled(whole)
    import aiter.mla  # noqa: PLC0415 where vLLM is

    real = aiter.mla.mla_decode_fwd

    @functools.wraps(real)  # vLLM looks for the parameter
    def read(*rest, kv_scale=None, **named):
        return real(*rest, kv_scale=torch.ones_like(kv_scale), **named)

    aiter.mla.mla_decode_fwd = read


def negative_slot_is_written(whole):
    """Slot -1 is no row to skip, but the one before the first."""

    def change(real):
        def write(latent, rope, cache, slots, *rest, **named):
            last = cache.shape[0] * cache.shape[1]
            return real(latent, rope, cache, torch.where(slots < 0, slots + last, slots), *rest,
                        **named)

        return write

    around(OPS + ":concat_and_cache_mla", change)


def padding_has_slot_0(whole):
    """Rows of padding have slot 0, not -1."""
    around("vllm.v1.worker.gpu.block_table:BlockTables.compute_slot_mappings",
           lambda real: lambda *rest, **named: real(*rest, **named).clamp_(min=0))


_WRAPPER = "vllm.model_executor.layers.mla:MultiHeadLatentAttentionWrapper.forward"


def in_rotary(change):
    """Calls `change(rotary embedding, positions, query, key)` where a layer applies it."""

    def of_layer(real):
        def forward(self, *rest, **named):
            rotary = self.rotary_emb
            turn = rotary.forward
            rotary.forward = lambda *given: change(turn, *given)
            try:
                return real(self, *rest, **named)
            finally:
                del rotary.forward

        return forward

    around(_WRAPPER, of_layer)


def rope_twice(whole):
    """Rotary positions are applied to queries and keys twice: scores stay nearly what they are."""
    in_rotary(lambda rotary, at, q, k: rotary(at, *rotary(at, q, k)))


def rope_never(whole):
    """Rotary positions are not applied."""
    in_rotary(lambda rotary, at, q, k: (q, k))


def rope_of_keys_again(whole):
    """The writer of the cache rotates keys that are rotated: the layer's own are right."""

    def of_writer(real):
        def write(latent, rope, *rest, **named):
            a, b = rope[..., 0::2].float(), rope[..., 1::2].float()
            turned = torch.stack((a * 0.8 - b * 0.6, b * 0.8 + a * 0.6), -1).flatten(-2)
            return real(latent, turned.to(rope.dtype), *rest, **named)

        return write

    around(OPS + ":concat_and_cache_mla", of_writer)


def capture_beyond_pool(whole):
    """A graph is captured for more requests than the runner has room for."""

    def made(real):
        def init(self, *rest, **named):
            real(self, *rest, **named)
            self.max_num_reqs *= 2
            self._init_candidates()  # noqa: SLF001

        return init

    around("vllm.v1.worker.gpu.cudagraph_utils:CudaGraphManager.__init__", made)


def splits_of_the_capture(whole):
    """A replay merges as many splits of each request as the dummy context of the capture had."""
    import aiter  # noqa: PLC0415 where vLLM is

    real = aiter.mla_decode_stage1_asm_fwd

    def stage1(*given):
        real(*given)
        if given[23] is not None:  # without a plan
            given[23].fill_(1)

    aiter.mla_decode_stage1_asm_fwd = stage1


_GRAPHS = "e2e1:requests=3;tokens=6;longest=40;layers=1;graphs=1"
_POOL = "e2e1:requests=4;running=3;tokens=6;longest=40;layers=1;graphs=1"
_FP8 = "e2e1:cache=fp8;requests=3;tokens=6;longest=40;layers=1"
SCALE = 4
_SCALE = f"{_FP8};scale={SCALE}"
#: 32 rows or more, which AITER attends without a plan on gfx950.
_UNPLANNED = "e2e1:arch=gfx950;requests=32;tokens=3;longest=100;layers=1;graphs=1"
GROUPS = {
    "writes": {
        "none": _GRAPHS,
        "none_pool": _POOL,
        "negative_slot_is_written": _GRAPHS,
        "padding_has_slot_0": _GRAPHS,
        "rope_twice": _GRAPHS,
        "rope_never": _GRAPHS,
        "rope_of_keys_again": _GRAPHS,
        "capture_beyond_pool": _POOL},
    "scale": {
        "none": _FP8,
        "none_scaled": _SCALE,
        "scale_is_not_loaded": _SCALE,
        "writer_of_other_scale": _SCALE,
        "reader_without_scale": _SCALE},
    "splits": {
        "none": _UNPLANNED,
        "splits_of_the_capture": _UNPLANNED},
}


def main(group: str, *only: str) -> None:
    """Serves each scenario of a group, or those of some plants, in a fork of this process."""
    import e2e_forks  # noqa: PLC0415
    from mla_testbed.engines.vllm import whole  # noqa: PLC0415

    asked = {plant: text for plant, text in GROUPS[group].items()
             if plant == "none" or not only or plant in only}
    e2e_forks.serve(whole, globals(), asked,
                    lambda: importlib.import_module("vllm.entrypoints.llm"))


if __name__ == "__main__":
    main(*sys.argv[1:])
