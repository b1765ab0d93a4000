"""A draft of Eagle3 that computes nearly what its target does, so that most drafts are accepted.

Its layer gets the embedding of a token and, beside it, hidden states of the target at the token
before. Its residual stream begins with the hidden states alone, so an embedding reaches the end
through attention only. Here hidden states count for nothing, and two heads of the draft, which the
target leaves idle, attend to their own token and hand on its embedding, 128 elements each: a key
that is the embedding itself scores far above those of other tokens, and equal tokens have equal
values.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from .model import EPSILON, HIDDEN, LATENT, PLAIN, ROPE, Model, drafting

#: Heads that hand an embedding on, and how sharply they attend to it.
COPIES, _SHARP = HIDDEN // PLAIN, 4.0
_LAYER, _ATTENTION = "model.layers.0.", "model.layers.0.self_attn."


def idle(weights: dict[str, torch.Tensor], heads: int) -> dict[str, torch.Tensor]:
    """A target whose last two heads add nothing."""
    out = weights[_ATTENTION + "o_proj.weight"].clone()
    out[:, (heads - COPIES) * PLAIN:] = 0
    return {**weights, _ATTENTION + "o_proj.weight": out}


def of(target: Model) -> Model:
    """The draft of a target of one layer with idle heads."""
    known = drafting(target.weights)
    weights = {"midlayer." + name.removeprefix(_LAYER): value for name, value in known.items()
               if name.startswith(_LAYER)}
    attention, first = "midlayer.self_attn.", (target.heads - COPIES) * PLAIN
    query = weights.pop(attention + "q_proj.weight").clone().view(
        target.heads, PLAIN + ROPE, HIDDEN)
    expand = weights[attention + "kv_b_proj.weight"].view(target.heads, 2 * PLAIN, LATENT).clone()
    out = weights[attention + "o_proj.weight"].clone()
    compress = weights[attention + "kv_a_proj_with_mqa.weight"]
    back = torch.linalg.pinv(compress[:LATENT].float())
    unit = torch.eye(HIDDEN)
    query[-COPIES:] = 0
    query[-COPIES:, :PLAIN] = _SHARP * unit.view(COPIES, PLAIN, HIDDEN).bfloat16()
    expand[-COPIES:] = back.view(COPIES, PLAIN, LATENT).repeat(1, 2, 1).bfloat16()
    out[:, first:] = unit.bfloat16()
    ones = torch.ones(HIDDEN, dtype=torch.bfloat16)
    weights.update({
        # vLLM loads such a draft with a low rank of queries alone: here all of an embedding.
        attention + "q_a_proj.weight": _of_embedding(unit.bfloat16()),
        attention + "q_a_layernorm.weight": torch.ones(HIDDEN, dtype=torch.bfloat16),
        attention + "q_b_proj.weight": query.flatten(0, 1),
        attention + "kv_a_proj_with_mqa.weight": _of_embedding(compress),
        attention + "kv_b_proj.weight": expand.flatten(0, 1),
        attention + "o_proj.weight": out,
        "midlayer.hidden_norm.weight": torch.zeros_like(ones), "norm.weight": ones,
        "fc.weight": unit.bfloat16(),
        "lm_head.weight": known["lm_head.weight"]})
    return dataclasses.replace(target, config=_config(target.config), weights=weights)


def echoed(target: Model) -> dict[str, torch.Tensor]:
    """The draft as weights of a target: what its heads hand on is as long as latents are made."""
    weights = drafting(target.weights)
    table = weights["model.embed_tokens.weight"]
    compress = weights[_ATTENTION + "kv_a_proj_with_mqa.weight"][:LATENT]
    latents = table.float() @ compress.float().T
    scale = torch.rsqrt(latents.square().mean(-1, keepdim=True) + EPSILON)
    return {**weights, "model.embed_tokens.weight": table.float() * scale}


def _of_embedding(weight: torch.Tensor) -> torch.Tensor:
    """Of an embedding and hidden states, one after the other, of which the first ones count."""
    return torch.cat([weight, torch.zeros_like(weight)], 1)


def _config(target: dict[str, Any]) -> dict[str, Any]:
    """Of the kind of model that vLLM takes for an Eagle3 draft with MLA."""
    return {**target, "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2",
            "num_nextn_predict_layers": 0, "q_lora_rank": HIDDEN,
            "draft_vocab_size": target["vocab_size"],
            # After the target's one layer: its hidden states there.
            "eagle_aux_hidden_state_layer_ids": [1], "num_aux_hidden_states": 1,
            # Hidden states end in a norm of weight 0, those of the draft's own earlier steps too.
            "norm_before_residual": True}
