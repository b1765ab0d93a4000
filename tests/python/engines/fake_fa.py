"""An engine of our own for steps of kind fa: its metadata is built with loops.

`fake_fa:NAME` is an adapter; a NAME other than Sound plants one defect.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from mla_testbed.engines import Machine
from mla_testbed.engines.dense import attention
from mla_testbed.engines.fa import FaBuilt, FaStep
from mla_testbed.engines.fa.result import scale_of
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.tensors import values_of

#: Plant -> property that catches it.
PLANTS = {
    "LostRequest": "P26", "LostPart": "P26", "PrefillWithContext": "P26", "LongDecode": "P26",
    "DecodeTokens": "P04", "ShortStarts": "P04", "WideStarts": "P04", "PrefillStarts": "P04",
    "Lengths": "P04", "FewLengths": "P04", "PaddingKeys": "P11", "PaddingBlock": "P11",
    "PaddingSlot": "P11", "WrongBlock": "P18", "NarrowTable": "P06", "SlotOff": "P18",
    "FewSlots": "P04", "MaxSeq": "P04", "MaxQuery": "P04", "PrefillMax": "P04", "Causal": "P29",
    "Fetches": "P21", "ChunkShape": "P04", "LateChunk": "P25", "LostChunk": "P25",
    "TwiceChunk": "P25", "ChunkTotal": "P04", "ChunkMax": "P04", "SmallWorkspace": "P06",
    "Owner": "P25", "FewOwners": "P06", "FallingChunk": "P04", "ChunkSums": "P04",
    "NoWindow": "P25", "LateWindow": "P25", "EarlyEnd": "P25", "WindowOwner": "P25",
    "WindowSums": "P04", "WindowRoom": "P06", "WindowMax": "P04", "TrimLate": "P25",
    "TrimPart": "P25", "TrimTable": "P18", "TrimNarrow": "P06", "TrimMax": "P04", "Sticky": "P03",
    "Lse": "P05", "NanResult": "P05", "ResultShape": "P05", "Raises": "P28",
}


def __getattr__(name: str):
    if name != "Sound" and name not in PLANTS:
        raise AttributeError(name)
    return lambda machine: FakeFa(machine, name)


class FakeFa:
    """Decodes, then extends, then prefills; a window cuts the tables of single-row decodes."""

    name, version, aiter, attends = "fake_fa", "1.0", "none", True
    sources = (__file__,)

    def __init__(self, machine: Machine, plant: str) -> None:
        self.machine, self.plant, self._built = machine, plant, 0

    def adapt(self, line: CaseLine) -> CaseLine:
        return line

    def start(self, steps) -> None:
        self._built = 0

    def build(self, step: FaStep) -> FaBuilt:
        return self._made(step, step.requests, graph=False)

    def capture(self, step: FaStep) -> FaBuilt | None:
        if set(step.query_lens) != {step.threshold}:
            return None
        return self._made(step, step.requests + step.pad, graph=True)

    def replay(self, step: FaStep, captured: FaBuilt) -> FaBuilt:
        if set(step.query_lens) != {step.threshold}:
            return self.build(step)
        return self._made(step, captured.requests, graph=True)

    def _made(self, step: FaStep, requests: int, *, graph: bool) -> FaBuilt:
        if self.plant == "Raises":
            raise AssertionError("planted")
        self._built += 1
        order, counts = _order(step)
        numbers = {"num_actual_tokens": sum(step.query_lens), "max_seq_len": max(step.seq_lens),
                   "num_decodes": counts[0] + requests - step.requests,
                   "num_extends": counts[1], "num_prefills": counts[2], "causal": step.causal}
        lists = _common(step, order, requests)
        parts = {"decode": order[:counts[0]], "extend": order[counts[0]:counts[0] + counts[1]],
                 "prefill": order[counts[0] + counts[1]:]}
        for name, places in parts.items():
            rows = [step.query_lens[i] for i in places]
            if name != "prefill":
                numbers[f"num_{name}_tokens"] = sum(rows)
            if places:
                numbers[f"{name}_max_query_len"] = max(rows)
                if name != "decode":
                    numbers[f"{name}_max_seq_len"] = max(step.seq_lens[i] for i in places)
                    lists[f"{name}_query_start_loc"] = _sums(rows)
        if parts["extend"]:
            _chunks(step, parts["extend"], numbers, lists)
            if step.window >= 0:
                _window(step, parts["extend"], numbers, lists)
        if step.window >= 0 and parts["decode"] and numbers["decode_max_query_len"] == 1:
            _trim(step, parts["decode"], requests, numbers, lists)
        if graph:
            numbers["num_decode_tokens"] = numbers["num_actual_tokens"] = requests * step.threshold
            spare = (requests - step.requests) * step.threshold
            lists["slot_mapping"] = np.append(lists["slot_mapping"], np.full(spare, -1))
        built = FaBuilt(order, requests, numbers, lists, (), None, graph)
        return self._damaged(step, built)

    def _damaged(self, step: FaStep, built: FaBuilt) -> FaBuilt:
        damage = DAMAGES.get(self.plant)
        if self.plant == "Sticky" and self._built > 1:
            built.numbers["max_seq_len"] += 1
        if damage is None:
            return built
        try:
            return damage(step, built) or built
        except (KeyError, IndexError, ValueError):  # the step has nothing to damage
            return built

    def attend(self, step: FaStep, built: FaBuilt, q, kv, cache):
        cache = cache.copy()
        rows = sum(step.query_lens)
        cache[:, built.lists["slot_mapping"][:rows]] = kv
        out, first = [], 0
        for request in built.order:
            own = values_of(q[first:first + step.query_lens[request]], step.arch)
            keys, values = values_of(cache[:, step.token_slots(request)], step.arch)
            scale = scale_of(step) * (1.2 if self.plant == "Lse" else 1.0)
            out.append(attention(own, keys, values, scale, causal=True, left=step.window).out)
            first += own.shape[0]
        made = np.concatenate(out).astype(np.float32)
        if self.plant == "NanResult":
            made[-1, -1, -1] = np.nan
        return made[:-1] if self.plant == "ResultShape" else made


def _order(step: FaStep) -> tuple[tuple[int, ...], list[int]]:
    def region(request: int) -> int:
        if step.query_lens[request] <= step.threshold:
            return 0
        return 1 if step.context(request) else 2

    order = tuple(sorted(range(step.requests), key=region))
    return order, [sum(region(i) == part for i in order) for part in range(3)]


def _sums(lengths) -> np.ndarray:
    return np.cumsum([0, *lengths]).astype(np.int32)


def _common(step: FaStep, order, requests: int) -> dict[str, np.ndarray]:
    rows = [step.query_lens[i] for i in order] + [0] * (requests - step.requests)
    table = np.zeros((requests, max(len(blocks) for blocks in step.block_tables)), np.int32)
    for place, request in enumerate(order):
        table[place, :len(step.block_tables[request])] = step.block_tables[request]
    lengths = [step.seq_lens[i] for i in order] + [0] * (requests - step.requests)
    return {"query_start_loc": _sums(rows), "seq_lens": np.array(lengths, np.int32),
            "block_table": table,
            "slot_mapping": np.concatenate([step.new_slots(i) for i in order])}


def _chunks(step: FaStep, extends, numbers, lists) -> None:
    size = step.workspace // len(extends)
    contexts = [step.context(i) for i in extends]
    chunks = -(-max(contexts) // size)
    starts = [[min(c * size, n) for n in contexts] for c in range(chunks)]
    lengths = [[min((c + 1) * size, n) - min(c * size, n) for n in contexts] for c in range(chunks)]
    width = max(map(sum, lengths))
    owners = np.zeros((chunks, width), np.int32)
    for chunk, parts in enumerate(lengths):
        owners[chunk, :sum(parts)] = np.repeat(np.arange(len(parts)), parts)
    numbers.update(num_chunks=chunks, workspace_tokens=step.workspace)
    lists.update(cu_seq_lens_chunk=np.stack([_sums(parts) for parts in lengths]),
                 chunk_starts=np.array(starts, np.int32), token_to_batch=owners,
                 max_seq_lens=np.array([max(parts) for parts in lengths]),
                 total_token_per_batch=np.array([sum(parts) for parts in lengths]))


def _window(step: FaStep, extends, numbers, lists) -> None:
    keys = [min(step.seq_lens[i], step.query_lens[i] + step.window) for i in extends]
    numbers.update(swa_total_tokens=sum(keys), swa_workspace_tokens=sum(keys),
                   swa_max_seqlens=max(keys))
    lists.update(swa_cu_seqlens=_sums(keys),
                 swa_seq_starts=np.array([step.seq_lens[i] - n for i, n in zip(
                     extends, keys, strict=True)]),
                 swa_token_to_batch=np.repeat(np.arange(len(keys)), keys))


def _trim(step: FaStep, decodes, requests: int, numbers, lists) -> None:
    columns = -(-(step.window + 1) // step.block_size) + 1
    table, lengths = np.zeros((requests, columns), np.int32), np.zeros(requests, np.int32)
    for place, request in enumerate(decodes):
        first = step.first_seen(request) // step.block_size
        blocks = step.block_tables[request][first:]
        table[place, :len(blocks)] = blocks
        lengths[place] = step.seq_lens[request] - first * step.block_size
    numbers["decode_swa_max_seq_len"] = step.window + step.block_size
    lists.update(decode_swa_block_table=table, decode_swa_seq_lens=lengths)


def _add(name: str, index, by: int):
    """Adds to an element of a list."""
    def damage(step: FaStep, built: FaBuilt) -> None:
        built.lists[name][index] += by
    return damage


def _cut(name: str):
    """Takes the last entry, or column, away."""
    def damage(step: FaStep, built: FaBuilt) -> None:
        built.lists[name] = built.lists[name][..., :-1]
    return damage


def _less(name: str):
    """A number one less."""
    def damage(step: FaStep, built: FaBuilt) -> None:
        built.numbers[name] -= 1
    return damage


def _on_padding(name: str, value: int):
    def damage(step: FaStep, built: FaBuilt) -> None:
        if built.requests > step.requests:
            built.lists[name][-1] = value
    return damage


def _all(name: str, by: int):
    def damage(step: FaStep, built: FaBuilt) -> None:
        built.lists[name] = built.lists[name] + np.int32(by)
    return damage


def _moved(giver: str, taker: str):
    """The request between two parts is in the other one; lists of parts follow."""
    def damage(step: FaStep, built: FaBuilt) -> None:
        at = built.part(giver)[0 if giver > taker else -1]
        request = built.order[at]
        built.numbers[f"num_{giver}s"] -= 1
        built.numbers[f"num_{taker}s"] += 1
        for name, sign in ((giver, -1), (taker, 1)):
            if name != "prefill":
                built.numbers[f"num_{name}_tokens"] += sign * step.query_lens[request]
    return damage


def _lost(step: FaStep, built: FaBuilt) -> FaBuilt:
    return dataclasses.replace(built, order=(built.order[0], *built.order[:-1]))


def _fetched(step: FaStep, built: FaBuilt) -> FaBuilt:
    return dataclasses.replace(built, fetched=("cpu() of a tensor of shape (3,)",))


def _wide(step: FaStep, built: FaBuilt) -> None:
    built.lists["query_start_loc"] = built.lists["query_start_loc"].astype(np.int64)


def _chunk_sums(step: FaStep, built: FaBuilt) -> None:
    built.lists["cu_seq_lens_chunk"] = built.lists["cu_seq_lens_chunk"].astype(np.int64)


def _not_causal(step: FaStep, built: FaBuilt) -> None:
    built.numbers["causal"] = 1 - built.numbers["causal"]


def _last_chunk(step: FaStep, built: FaBuilt) -> None:
    built.numbers["num_chunks"] -= 1
    for name in ("cu_seq_lens_chunk", "chunk_starts", "token_to_batch", "max_seq_lens",
                 "total_token_per_batch"):
        built.lists[name] = built.lists[name][:-1]


def _twice(step: FaStep, built: FaBuilt) -> None:
    if built.numbers["num_chunks"] > 1:
        built.lists["chunk_starts"][1] = built.lists["chunk_starts"][0]


def _no_window(step: FaStep, built: FaBuilt) -> None:
    built.lists.pop("swa_cu_seqlens", None)


DAMAGES = {
    "LostRequest": _lost, "LostPart": _less("num_decodes"),
    "PrefillWithContext": _moved("extend", "prefill"), "LongDecode": _moved("extend", "decode"),
    "DecodeTokens": _less("num_decode_tokens"), "ShortStarts": _cut("query_start_loc"),
    "WideStarts": _wide, "PrefillStarts": _all("prefill_query_start_loc", 1),
    "Lengths": _add("seq_lens", 0, -1), "FewLengths": _cut("seq_lens"),
    "PaddingKeys": _on_padding("seq_lens", 1), "PaddingBlock": _on_padding("block_table", -1),
    "PaddingSlot": _on_padding("slot_mapping", 0), "WrongBlock": _add("block_table", (0, 0), 1),
    "NarrowTable": _cut("block_table"), "SlotOff": _add("slot_mapping", 0, 1),
    "FewSlots": _cut("slot_mapping"), "MaxSeq": _less("max_seq_len"),
    "MaxQuery": _less("extend_max_query_len"), "PrefillMax": _less("prefill_max_seq_len"),
    "Causal": _not_causal, "Fetches": _fetched, "ChunkShape": _cut("chunk_starts"),
    "LateChunk": _all("chunk_starts", 1), "LostChunk": _last_chunk, "TwiceChunk": _twice,
    "ChunkTotal": _add("total_token_per_batch", 0, -1), "ChunkMax": _add("max_seq_lens", 0, -1),
    "SmallWorkspace": lambda step, built: built.numbers.update(workspace_tokens=1),
    "Owner": _add("token_to_batch", (0, 0), 1), "FewOwners": _cut("token_to_batch"),
    "FallingChunk": _add("cu_seq_lens_chunk", (0, 0), 1 << 20),
    "ChunkSums": _chunk_sums, "NoWindow": _no_window, "LateWindow": _add("swa_seq_starts", 0, 1),
    "EarlyEnd": _add("swa_seq_starts", 0, -1), "WindowOwner": _add("swa_token_to_batch", 0, 1),
    "WindowSums": _cut("swa_seq_starts"), "WindowRoom": _less("swa_workspace_tokens"),
    "WindowMax": _less("swa_max_seqlens"),
    "TrimLate": lambda step, built: built.lists["decode_swa_seq_lens"].__isub__(step.block_size),
    "TrimPart": _all("decode_swa_seq_lens", -1),
    "TrimTable": _add("decode_swa_block_table", (0, 0), 1),
    "TrimNarrow": lambda step, built: built.lists.update(
        decode_swa_block_table=built.lists["decode_swa_block_table"][:, :1]),
    "TrimMax": lambda step, built: built.numbers.update(decode_swa_max_seq_len=0),
}
