"""A model with an indexer, as DeepSeek-V3.2 has it, whose selection rounding cannot change.

A tiny indexer's logits are noise, and so would the selection be near its threshold. Here the
indexer knows three classes of tokens. Those of KEPT have logits far above 0, those of LEFT_OUT far
below, and all others exactly 0, since no head's product with them is positive. Attention ignores
the others, by a score of about -40: which of them are selected changes nothing. Keys of LEFT_OUT
attract attention like those of KEPT. So a row's output is right if and only if it has all keys of
KEPT and no key of LEFT_OUT, as long as there are at least TOPK keys that are not left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

#: Keys that a row selects at most: vLLM's kernels take multiples of 128.
TOPK = 128
#: Elements of an indexer's key, its heads, elements of the query's low rank; epsilon of its norm.
KEY, HEADS, RANK, EPSILON = 128, 64, 128, 1e-6
CONFIG: dict[str, Any] = {
    "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32",
    "q_lora_rank": RANK, "index_topk": TOPK, "index_n_heads": HEADS, "index_head_dim": KEY}
#: Classes of tokens, by their remainder modulo _CLASSES.
KEPT, LEFT_OUT, _CLASSES = (0, 1), (2,), 8
#: Elements of a hidden state that say it: always there, of a class.
_ALWAYS, _KEPT, _LEFT = 0, 1, 2
_FLAGS, _MARK = (_ALWAYS, _KEPT, _LEFT), 2.0
#: Rows of a head with rope, and first elements of a head's key and query without it.
_ROPE, _PLAIN = 64, 128
#: Of a query's low rank the element that is always there; its size in what else there is.
_SURE, _SIZE = 0, 8.0
#: A score of tokens that are ignored; deviation of what else indexer queries have.
_IGNORED, _NOISE = -140.0, 0.02


def config(layers: int, share: int) -> dict[str, Any]:
    """Of config.json: what says that it has an indexer, and in which layers."""
    pattern = "".join("S" if number % share else "F" for number in range(layers))
    return {**CONFIG, **({"index_topk_pattern": pattern} if share > 1 else {})}


def mark(embedding: torch.Tensor) -> None:
    """Puts the classes into (vocabulary, hidden) embeddings."""
    classes = torch.arange(len(embedding)) % _CLASSES
    embedding[:, list(_FLAGS)] = 0
    embedding[:, _ALWAYS] = _MARK
    for element, members in ((_KEPT, KEPT), (_LEFT, LEFT_OUT)):
        embedding[torch.isin(classes, torch.tensor(members)), element] = _MARK


def at(position: int, token: int) -> int:
    """A token of a prompt: the first is kept, and until TOPK keys are there none is left out."""
    if position == 0:
        return token - token % _CLASSES
    left = position < TOPK and token % _CLASSES in LEFT_OUT
    return token + 1 if left else token


def decided(tokens: list[int]) -> bool:
    """Whether each row with more than TOPK keys has TOPK that are not left out."""
    kept = 0
    for number, token in enumerate(tokens, 1):
        kept += token % _CLASSES not in LEFT_OUT
        if number > TOPK and kept < TOPK:
            return False
    return True


def of_layer(drawn: Callable[[int, int, float], torch.Tensor], layer: dict[str, torch.Tensor],
             heads: int, *, alone: bool = True) -> dict[str, torch.Tensor]:
    """A layer's weights with an indexer, if it is `alone`, and with a query of low rank."""
    made = dict(layer)
    query = made.pop("self_attn.q_proj.weight")
    hidden = query.shape[1]
    low = drawn(RANK, hidden, hidden**-0.5)
    low[_SURE] = 0
    low[_SURE, _ALWAYS] = _SIZE
    back = drawn(query.shape[0], RANK, float(query.float().std()) * (hidden / RANK)**0.5)
    expand = made["self_attn.kv_b_proj.weight"]
    compress = made["self_attn.kv_a_proj_with_mqa.weight"]
    compress[0] = 0
    compress[0, _ALWAYS], compress[0, _KEPT], compress[0, _LEFT] = _SIZE, -_SIZE, -_SIZE
    for head in range(heads):
        row, wide = head * (_PLAIN + _ROPE), head * 2 * _PLAIN
        back[row], back[row, _SURE] = 0, _IGNORED / _SIZE
        expand[wide], expand[wide, 0] = 0, 1
    for name in ("self_attn.o_proj.weight", "mlp.down_proj.weight"):
        made[name][list(_FLAGS)] = 0
    made.update({"self_attn.q_a_proj.weight": low, "self_attn.q_b_proj.weight": back,
                 "self_attn.q_a_layernorm.weight": torch.ones(RANK, dtype=torch.bfloat16)})
    if alone:
        made.update({f"self_attn.indexer.{name}": value
                     for name, value in _indexer(drawn, hidden).items()})
    return made


def _indexer(drawn: Callable[[int, int, float], torch.Tensor], hidden: int
             ) -> dict[str, torch.Tensor]:
    """The first half of its heads sees tokens that are kept, the others those that are left out."""
    query, key = drawn(HEADS * KEY, RANK, _NOISE), drawn(KEY, hidden, hidden**-0.5)
    weights = drawn(HEADS, hidden, _NOISE / 4)
    for element, flag in ((_ROPE, _KEPT), (_ROPE + 1, _LEFT)):
        key[element] = 0
        key[element, flag], key[element, _ALWAYS] = 6, -2
    for head in range(HEADS):
        kept = head < HEADS // 2
        for other in range(2):
            query[head * KEY + _ROPE + other] = 0
        query[head * KEY + _ROPE + (not kept), _SURE] = 1
        weights[head, list(_FLAGS)] = 0
        weights[head, _ALWAYS] = 0.5 if kept else -0.5
    ones = torch.ones(KEY, dtype=torch.bfloat16)
    return {"wq_b.weight": query, "wk.weight": key, "weights_proj.weight": weights,
            "k_norm.weight": ones, "k_norm.bias": torch.zeros_like(ones)}


def selected(logits: torch.Tensor) -> torch.Tensor:
    """(batch, rows, keys): the TOPK largest of each row's keys, or all; of equal ones the first."""
    rows, keys = logits.shape[1:]
    seen = torch.arange(keys)[None] <= torch.arange(rows)[:, None] + keys - rows
    order = torch.argsort(logits.masked_fill(~seen, -torch.inf), dim=-1, descending=True,
                          stable=True)
    made = torch.zeros_like(logits, dtype=torch.bool)
    made.scatter_(-1, order[..., :TOPK], True)
    return made & seen


def rounding(coded: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor],
                                                                        torch.Tensor]:
    """To fp8 and back, with a power of two for each row as its scale.

    Args:
        coded: to fp8 and back.
    """
    def rounded(x: torch.Tensor) -> torch.Tensor:
        largest = x.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 224
        scale = torch.exp2(torch.ceil(torch.log2(largest)))
        return coded(x / scale) * scale

    return rounded


def hadamard(x: torch.Tensor) -> torch.Tensor:
    """x H / sqrt(n) along the last dimension, which turns no product of two; twice it is x again.
    H has 1 and -1, in Sylvester's order."""
    made, step = x, 1
    while step < x.shape[-1]:
        pairs = made.reshape(*x.shape[:-1], -1, 2, step)
        made = torch.cat((pairs[..., :1, :] + pairs[..., 1:, :],
                          pairs[..., :1, :] - pairs[..., 1:, :]), -2).reshape(x.shape)
        step *= 2
    return made / x.shape[-1]**0.5


def rotated(rounded: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor],
                                                                         torch.Tensor]:
    """A rounding of what is rotated, as engines do before fp8 so that no element is large."""
    return lambda x: hadamard(rounded(hadamard(x)))


def fault(logits: torch.Tensor, found: torch.Tensor, room: float) -> str | None:
    """What is wrong with the selection of one row; None: it is legal.

    Args:
        logits: (keys,) exact ones of the keys that the row sees. found: (TOPK,) its selection.
        room: how far two logits may be off together.
    """
    keys, count = logits.numel(), min(TOPK, logits.numel())
    chosen = found[:count].long()
    if bool((found[count:] != -1).any()) or bool(((chosen < 0) | (chosen >= keys)).any()):
        return f"selects {int((found >= 0).sum())} keys, some of them not its own; expected {count}"
    picked = torch.zeros(keys, dtype=torch.bool)
    picked[chosen] = True
    if int(picked.sum()) != count:
        return f"selects {int(picked.sum())} different keys; expected {count}"
    threshold = torch.topk(logits, count).values[-1]
    missing = (logits > threshold + room) & ~picked
    foreign = (logits < threshold - room) & picked
    if bool(missing.any() | foreign.any()):
        key = int((missing if bool(missing.any()) else foreign).nonzero()[0, 0])
        what = "leaves out" if bool(missing.any()) else "takes"
        return f"{what} key {key} with logit {float(logits[key]):.3g}; the threshold is " \
               f"{float(threshold):.3g}"
    return None
