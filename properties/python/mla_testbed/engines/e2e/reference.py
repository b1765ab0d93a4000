"""Dense attention in float32 over whole sequences: nothing absorbed, no paged cache, no engine.

The same with roundings of the types that an engine computes in is the noise floor: how far a right
engine may be from float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from . import indexed
from .model import EPSILON, GROUP, HEAD, LATENT, PLAIN, POSITIONS, ROPE, THETA, Model

Rounding = Callable[[torch.Tensor], torch.Tensor]
#: Of each layer keys and values, (batch, keys, heads, elements), and with an indexer its keys,
#: (batch, keys, 1, elements).
Past = list[tuple[torch.Tensor, ...]]


def exact(x: torch.Tensor) -> torch.Tensor:
    """No rounding."""
    return x


def bf16(x: torch.Tensor) -> torch.Tensor:
    """To bfloat16 and back."""
    return x.bfloat16().float()


def fp8(arch: str) -> Rounding:
    """To the architecture's float8 and back, saturated."""
    kind = torch.float8_e4m3fnuz if arch == "gfx942" else torch.float8_e4m3fn
    most = torch.finfo(kind).max
    return lambda x: x.clamp(-most, most).to(kind).float()


@dataclasses.dataclass
class Traced:
    """What a layer computed: by name, (rows, …). Names: query, key, attention; of an indexer "index
    query", "index key", and index: logits for each key, 0 for later ones."""

    layers: list[dict[str, torch.Tensor]] = dataclasses.field(default_factory=list)


class Reference:
    """A model, evaluated.

    Args:
        rounding: applied to the result of each operation.
        cached: applied to what the cache holds and, with an fp8 cache, to the absorbed query; None
            if that is not rounded further.
        indexer: applied to queries and keys of the indexer. turned: applied to them
            before, where an engine rotates them.
    """

    def __init__(self, model: Model, rounding: Rounding = exact, cached: Rounding | None = None,
                 indexer: Rounding = exact, turned: Rounding = exact) -> None:
        self._model, self._round, self._cached = model, rounding, cached
        self._indexed, self._rotated = indexer, turned
        self._weights = {name: value.float() for name, value in model.weights.items()}
        count = ROPE if model.mla else HEAD
        angles = torch.arange(POSITIONS).float()[:, None] * THETA ** (
            -torch.arange(0, count, 2).float() / count)
        self._turns = torch.cos(angles), torch.sin(angles)

    def logits(self, tokens: list[int], traced: Traced | None = None) -> torch.Tensor:
        """(tokens, vocabulary) of one sequence."""
        with torch.inference_mode():
            return self.forward(torch.tensor([tokens]), None, traced)[0][0]

    def forward(self, tokens: torch.Tensor, past: Past | None, traced: Traced | None = None
                ) -> tuple[torch.Tensor, Past]:
        """tokens: (batch, n) after what `past` holds. Logits of each, and the longer past."""
        x = self._weights["model.embed_tokens.weight"][tokens]
        longer: Past = []
        index: torch.Tensor | None = None
        for number in range(self._model.layers):
            of = f"model.layers.{number}."
            kept: dict[str, torch.Tensor] = {}
            h = self._norm(x, of + "input_layernorm")
            before, attends = None if past is None else past[number], of + "self_attn."
            if self._model.mla:
                taken = index if self._model.takes(number) else None
                out, both, index = self._mla(h, attends, before, kept, taken)
            else:
                out, both = self._llama(h, attends, before, kept)
            longer.append(both)
            x = self._round(x + self._linear(out, of + "self_attn.o_proj"))
            h = self._norm(x, of + "post_attention_layernorm")
            gate = torch.nn.functional.silu(self._linear(h, of + "mlp.gate_proj"))
            up = self._linear(h, of + "mlp.up_proj")
            x = self._round(x + self._linear(self._round(gate * up), of + "mlp.down_proj"))
            if traced is not None:
                traced.layers.append(kept)
        return self._linear(self._norm(x, "model.norm"), "lm_head"), longer

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return self._round(x @ self._weights[name + ".weight"].T)

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)
        return self._round(x * scale * self._weights[name + ".weight"])

    def _mla(self, h: torch.Tensor, of: str, past: Any, kept: dict[str, torch.Tensor],
             index: torch.Tensor | None) -> Any:
        """index: logits of the indexer whose selection this layer takes; None: of its own."""
        heads, (batch, rows) = self._model.heads, h.shape[:2]
        start = 0 if past is None else past[0].shape[1]
        low = h
        if self._model.dsa:
            low = self._norm(self._linear(h, of + "q_a_proj"), of + "q_a_layernorm")
        q = self._linear(low, of + ("q_b_proj" if self._model.dsa else "q_proj")).view(
            batch, rows, heads, PLAIN + ROPE)
        compressed = self._linear(h, of + "kv_a_proj_with_mqa")
        latent = self._norm(compressed[..., :LATENT], of + "kv_a_layernorm")
        turned = self._turned(compressed[..., None, LATENT:], start, pairs=True)
        q = torch.cat([q[..., :PLAIN], self._turned(q[..., PLAIN:], start, pairs=True)], -1)
        expand = self._weights[of + "kv_b_proj.weight"].view(heads, 2 * PLAIN, LATENT)
        if self._cached is not None:
            latent, turned = self._cached(latent), self._cached(turned)
        key = torch.cat([latent[:, :, None], turned], -1)
        kept["query"], kept["key"] = q[0].flatten(1), key[0, :, 0]
        seen: torch.Tensor | None = None
        both: tuple[torch.Tensor, ...] = (key, key)
        if self._model.dsa:
            if index is None:
                index, keys = self._index(h, low, of, past, kept)
                both = key, key, keys
            kept["index"], seen = index[0], indexed.selected(index)
        if self._cached is not None:
            if past is not None:
                key = torch.cat([past[0], key], 1)
            both = (key, key, *both[2:])
            absorbed = torch.einsum("bqhd,hdl->bqhl", q[..., :PLAIN], expand[:, :PLAIN])
            q = self._cached(torch.cat([absorbed, q[..., PLAIN:]], -1))
            out = self._attend(q, key.expand(-1, -1, heads, -1), key[..., :LATENT].expand(
                -1, -1, heads, -1), (PLAIN + ROPE)**-0.5, seen)
            out = torch.einsum("bqhl,hvl->bqhv", self._round(out), expand[:, PLAIN:])
        else:
            wide = self._linear(latent, of + "kv_b_proj").view(batch, rows, heads, 2 * PLAIN)
            k = torch.cat([wide[..., :PLAIN], turned.expand(-1, -1, heads, -1)], -1)
            v = wide[..., PLAIN:]
            if past is not None:
                k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
            both = (k, v, *both[2:])
            out = self._attend(q, k, v, (PLAIN + ROPE)**-0.5, seen)
        kept["attention"] = self._round(out)[0].flatten(1)
        return self._round(out).flatten(2), both, index

    def _index(self, h: torch.Tensor, low: torch.Tensor, of: str, past: Any,
               kept: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, rows, keys) logits of the indexer, and its keys of all tokens."""
        start, of = 0 if past is None else past[2].shape[1], of + "indexer."
        batch, rows = h.shape[:2]
        q = self._linear(low, of + "wq_b").view(batch, rows, -1, indexed.KEY)
        k = torch.nn.functional.layer_norm(
            self._linear(h, of + "wk"), (indexed.KEY,), self._weights[of + "k_norm.weight"],
            self._weights[of + "k_norm.bias"], indexed.EPSILON)[..., None, :]
        q, k = (torch.cat([self._turned(x[..., :ROPE], start, pairs=False), x[..., ROPE:]], -1)
                for x in (q, k))
        q, k = self._rotated(q), self._rotated(k)
        kept["index query"], kept["index key"] = q[0].flatten(1), k[0].flatten(1)
        q, k = self._indexed(q), self._indexed(k)
        keys = k if past is None else torch.cat([past[2], k], 1)
        weights = self._linear(h, of + "weights_proj")
        scores = torch.relu(torch.einsum("bqhd,bkd->bqhk", q, keys[:, :, 0]))
        made = torch.einsum("bqhk,bqh->bqk", scores, weights) * (
            indexed.KEY * q.shape[2])**-0.5
        return torch.where(_seen(rows, keys.shape[1]), made, torch.zeros_like(made)), keys

    def _llama(self, h: torch.Tensor, of: str, past: Any, kept: dict[str, torch.Tensor]) -> Any:
        batch, rows = h.shape[:2]
        start = 0 if past is None else past[0].shape[1]
        q, k, v = (self._linear(h, of + name).view(batch, rows, -1, HEAD)
                   for name in ("q_proj", "k_proj", "v_proj"))
        q, k = self._turned(q, start, pairs=False), self._turned(k, start, pairs=False)
        kept["query"] = q[0].flatten(1)
        kept["key"] = torch.cat([k[0].flatten(1), v[0].flatten(1)], -1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        out = self._round(self._attend(q, k.repeat_interleave(GROUP, 2),
                                       v.repeat_interleave(GROUP, 2), HEAD**-0.5))
        kept["attention"] = out[0].flatten(1)
        return out.flatten(2), (k, v)

    def _turned(self, x: torch.Tensor, start: int, *, pairs: bool) -> torch.Tensor:
        """Rotary positions of (batch, rows, heads, elements): pairs are neighbours, or halves."""
        cos, sin = (table[start:start + x.shape[1], None] for table in self._turns)
        a, b = (x[..., 0::2], x[..., 1::2]) if pairs else x.chunk(2, -1)
        u, w = a * cos - b * sin, b * cos + a * sin
        return self._round(torch.stack((u, w), -1).flatten(-2) if pairs else torch.cat((u, w), -1))

    @staticmethod
    def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float,
                seen: torch.Tensor | None = None) -> torch.Tensor:
        """seen: (batch, rows, keys) those that an indexer selected; None: all up to the row's."""
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
        seen = _seen(*scores.shape[-2:]) if seen is None else seen[:, None]
        weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
        return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def _seen(rows: int, keys: int) -> torch.Tensor:
    """(rows, keys): whether a row comes after a key."""
    return torch.arange(keys)[None] <= torch.arange(rows)[:, None] + keys - rows
