"""Small models with random weights, scaled so that attention looks at few keys."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pathlib
from typing import Any

import torch

from . import indexed
from .scenario import Scenario

HIDDEN, VOCABULARY, MIDDLE, POSITIONS = 256, 256, 512, 2048
LATENT, ROPE, PLAIN = 512, 64, 128  # of a latent; of a head's key with and without rope
HEAD, GROUP = 128, 4  # of a model without MLA: elements of a head, query heads of a KV head
THETA, EPSILON = 10000.0, 1e-6
#: How much of a target's MLP a draft has: enough for most drafts, and not for all.
_DRAFTS_MLP, _DOWN = 0.5, "mlp.down_proj.weight"
#: Deviation of scores is the square of _SHARP, that of logits _SPREAD.
_SHARP, _SPREAD = 1.7, 4.0
#: Folder of a draft's checkpoint, in that of its target.
DRAFT = "draft"


@dataclasses.dataclass(frozen=True)
class Model:
    """Weights by the names of a checkpoint, in bf16, and its config.json.

    Attributes:
        draft: of a checkpoint of its own, below the target's folder.
        share: each `share`-th layer has an indexer; the layers after it take its selection.
    """

    config: dict[str, Any]
    weights: dict[str, torch.Tensor]
    heads: int
    layers: int
    mla: bool
    dsa: bool = False
    draft: Model | None = None
    share: int = 1

    def takes(self, layer: int) -> bool:
        """Whether a layer has no indexer, and takes the selection of one before it."""
        return self.dsa and layer % self.share != 0

    def write(self, folder: pathlib.Path) -> None:
        """A checkpoint that engines load."""
        save_file = importlib.import_module("safetensors.torch").save_file  # engines have it

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config), encoding="utf-8")
        save_file({name: tensor.clone() for name, tensor in self.weights.items()},
                  str(folder / "model.safetensors"))
        if self.draft is not None:
            self.draft.write(folder / DRAFT)


def make(scenario: Scenario) -> Model:
    """The model of a scenario; the same seed, heads and layers give the same weights."""
    drawn = _Drawn(scenario.seed)
    dsa, mla = scenario.model == "dsa", scenario.model != "llama"
    layer = _mla_layer if mla else _llama_layer
    heads = scenario.heads * scenario.dcp
    embedding = drawn(VOCABULARY, HIDDEN, 1.0).float()
    embedding = (embedding / embedding.square().mean(-1, keepdim=True).sqrt()).bfloat16()
    if dsa:
        indexed.mark(embedding)
    weights = {"model.embed_tokens.weight": embedding,
               "model.norm.weight": torch.ones(HIDDEN, dtype=torch.bfloat16),
               "lm_head.weight": drawn(VOCABULARY, HIDDEN, _SPREAD / HIDDEN**0.5)}
    for number in range(scenario.layers):
        made = layer(drawn, heads)
        if dsa:
            made = indexed.of_layer(drawn, made, heads, alone=number % scenario.share == 0)
        weights.update({f"model.layers.{number}.{name}": value for name, value in made.items()})
        if scenario.scale != 1:
            weights.update(_scales(number, scenario.scale))
        if scenario.spec == "mtp":
            weights.update(_echo(number + 1, weights, made))
    config = _mla_config(scenario) if mla else _llama_config(scenario)
    if dsa:
        config.update(indexed.config(scenario.layers, scenario.share))
    if scenario.spec == "eagle3":
        eagle = importlib.import_module(".eagle", __package__)  # it is made of this module
        target = Model(config, eagle.idle(weights, heads), heads, scenario.layers, mla)
        return dataclasses.replace(target, draft=eagle.of(target))
    return Model(config, weights, heads, scenario.layers, mla, dsa, share=scenario.share)


def drafting(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights of a draft: the target's, with less of the MLP. So the target rejects some drafts,
    in the middle of what it generates too."""
    return {name: value * _DRAFTS_MLP if name.endswith(_DOWN) else value
            for name, value in weights.items()}


class _Drawn:
    def __init__(self, seed: int) -> None:
        self._of = torch.Generator().manual_seed(seed)

    def __call__(self, rows: int, columns: int, deviation: float) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=self._of) * deviation).bfloat16()


def _mla_layer(drawn: _Drawn, heads: int) -> dict[str, torch.Tensor]:
    query, key = _SHARP / HIDDEN**0.5, _SHARP / LATENT**0.5
    value = LATENT**-0.5
    expand = torch.cat([drawn(PLAIN, LATENT, deviation) for _ in range(heads)
                        for deviation in (key, value)])
    return {
        "self_attn.q_proj.weight": drawn(heads * (PLAIN + ROPE), HIDDEN, query),
        "self_attn.kv_a_proj_with_mqa.weight": torch.cat(
            [drawn(LATENT, HIDDEN, HIDDEN**-0.5), drawn(ROPE, HIDDEN, query)]),
        "self_attn.kv_a_layernorm.weight": torch.ones(LATENT, dtype=torch.bfloat16),
        "self_attn.kv_b_proj.weight": expand,
        "self_attn.o_proj.weight": drawn(HIDDEN, heads * PLAIN, (heads * PLAIN)**-0.5),
        **_mlp(drawn)}


def _llama_layer(drawn: _Drawn, heads: int) -> dict[str, torch.Tensor]:
    query, fewer = _SHARP / HIDDEN**0.5, heads // GROUP
    return {
        "self_attn.q_proj.weight": drawn(heads * HEAD, HIDDEN, query),
        "self_attn.k_proj.weight": drawn(fewer * HEAD, HIDDEN, query),
        "self_attn.v_proj.weight": drawn(fewer * HEAD, HIDDEN, HIDDEN**-0.5),
        "self_attn.o_proj.weight": drawn(HIDDEN, heads * HEAD, (heads * HEAD)**-0.5),
        **_mlp(drawn)}


def _mlp(drawn: _Drawn) -> dict[str, torch.Tensor]:
    ones = torch.ones(HIDDEN, dtype=torch.bfloat16)
    return {"input_layernorm.weight": ones, "post_attention_layernorm.weight": ones.clone(),
            "mlp.gate_proj.weight": drawn(MIDDLE, HIDDEN, HIDDEN**-0.5),
            "mlp.up_proj.weight": drawn(MIDDLE, HIDDEN, HIDDEN**-0.5),
            "mlp.down_proj.weight": drawn(HIDDEN, MIDDLE, MIDDLE**-0.5)}


def _echo(number: int, weights: dict[str, torch.Tensor], layer: dict[str, torch.Tensor]
          ) -> dict[str, torch.Tensor]:
    """An MTP layer that computes what a target of one layer does, with less of the MLP and without
    the first tokens: its input is the embedding alone, whose norm is 1 already."""
    ones = torch.ones(HIDDEN, dtype=torch.bfloat16)
    passes = torch.cat([torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)], dim=1).bfloat16()
    own = {"embed_tokens.weight": weights["model.embed_tokens.weight"], "enorm.weight": ones,
           "hnorm.weight": ones, "eh_proj.weight": passes,
           "shared_head.norm.weight": weights["model.norm.weight"],
           "shared_head.head.weight": weights["lm_head.weight"]}
    return {f"model.layers.{number}.{name}": value
            for name, value in {**own, **drafting(layer)}.items()}


def _scales(number: int, scale: int) -> dict[str, torch.Tensor]:
    """What the cache of a layer is divided by, under the names of vLLM."""
    of = f"model.layers.{number}.self_attn."
    return {of + name: torch.tensor(float(scale))
            for name in ("mla_attn.mla_attn.k_scale", "mla_attn.mla_attn.v_scale")}


def _common(scenario: Scenario) -> dict[str, Any]:
    return {"num_attention_heads": scenario.heads * scenario.dcp, "hidden_size": HIDDEN,
            "num_hidden_layers": scenario.layers, "intermediate_size": MIDDLE,
            "vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS, "rope_theta": THETA,
            "rms_norm_eps": EPSILON, "tie_word_embeddings": False, "hidden_act": "silu",
            "bos_token_id": 0, "eos_token_id": VOCABULARY - 1, "torch_dtype": "bfloat16"}


#: Of a checkpoint that has nothing in fp8 but scales of its cache, as NVIDIA's ModelOpt says it.
_QUANTIZED = {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["*"],
              "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}}


def _mla_config(scenario: Scenario) -> dict[str, Any]:
    quantized = {"quantization_config": _QUANTIZED} if scenario.scale != 1 else {}
    return {**_common(scenario), **quantized, "architectures": ["DeepseekV3ForCausalLM"],
            "model_type": "deepseek_v3", "num_key_value_heads": scenario.heads * scenario.dcp,
            "kv_lora_rank": LATENT, "q_lora_rank": None, "qk_nope_head_dim": PLAIN,
            "qk_rope_head_dim": ROPE, "v_head_dim": PLAIN,
            # No experts: all layers are dense, that of the draft too.
            "first_k_dense_replace": scenario.layers + 1, "n_routed_experts": 8,
            "moe_intermediate_size": HIDDEN, "num_experts_per_tok": 2, "n_group": 1,
            "topk_group": 1, "num_nextn_predict_layers": int(scenario.spec == "mtp")}


def _llama_config(scenario: Scenario) -> dict[str, Any]:
    return {**_common(scenario), "architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "num_key_value_heads": scenario.heads // GROUP, "head_dim": HEAD,
            "attention_bias": False, "mlp_bias": False}
