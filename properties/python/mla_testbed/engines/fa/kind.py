"""Grouped-query attention in three parts: decodes, extends and prefills."""

from __future__ import annotations

import pathlib
from typing import Any, ClassVar

from .. import adapt
from ..facts import facts_of
from ..findings import Finding
from ..kind import Contents, Kind, write_metadata
from ..line import CaseLine
from .built import FaBuilt
from .chunks import check_chunks
from .lists import check_lists
from .opinion import opinions_of
from .result import affordable, check_result
from .step import WORKSPACE_TOKENS, FaStep, fa_steps_of

#: Elements of a head that the backend advertises, and its block sizes.
HEAD_DIMS, BLOCKS = (64, 128, 256), (16, 32)


class Fa(Kind[FaStep, FaBuilt]):
    """AITER's flash attention backend."""

    name = "fa"
    adapters: ClassVar = {"vllm": "mla_testbed.engines.vllm.fa_adapter:VllmFa"}
    fields = adapt.OTHER_KINDS
    steps = staticmethod(fa_steps_of)
    opinions = staticmethod(opinions_of)
    affordable = staticmethod(affordable)
    attend = staticmethod(check_result)

    def adapt(self, line: CaseLine, arch: str | None = None) -> CaseLine:
        """What no engine can be asked is set aside, what every engine guarantees holds.

        Beside what holds for decode cases: values are bf16, heads have 64, 128 or 256 elements,
        blocks 16 or 32 tokens, a window is causal, and KV heads divide the heads. The workspace
        has a token for each request.

        Raises:
            UsageError: the case is of another kind, or no request of a step has a row.
        """
        adapt.expect_kind(line, self.name)
        own = {name: line[name] for name in self.fields}
        made = adapt.common(line, arch)
        requests = max(len(made.requests(number)) for number in range(len(made.steps)))
        dim, block = int(own["dim"]), int(line["block"])
        heads, kv_heads = int(line["heads"]), int(own["kvheads"])
        own["heads"] = str(-(-heads // kv_heads) * kv_heads)
        own["dim"] = str(next((known for known in HEAD_DIMS if known >= dim), HEAD_DIMS[-1]))
        own["workspace"] = str(min(max(int(own["workspace"]), requests), WORKSPACE_TOKENS * 2))
        causal = "1" if int(own["window"]) >= 0 else line["causal"]
        return CaseLine.parse(str(made.with_fields(
            kind=self.name, dtype="bf16/bf16", scale="1/1", causal=causal,
            block=str(BLOCKS[0] if block <= BLOCKS[0] else BLOCKS[1]), **own)))

    def facts(self, step: FaStep, built: FaBuilt | None) -> dict[str, Any]:
        """The layer's, and what is in each part once built."""
        facts = {**facts_of(step), "kind": self.name, "kv_heads": step.kv_heads,
                 "head_dim": step.head_dim, "window": step.window, "draft": step.draft,
                 "causal": step.causal, "context": max(map(step.context, range(step.requests)))}
        if built is not None:
            facts["padding"] = built.requests - step.requests
            facts.update({f"{name}s": len(built.part(name))
                          for name in ("decode", "extend", "prefill")})
            facts["chunks"] = built.numbers.get("num_chunks", 0)
        return facts

    def for_graph(self, built: FaBuilt) -> bool:
        """The adapter says it."""
        return built.graph

    def check(self, step: FaStep, built: FaBuilt) -> list[Finding]:
        """Lists, then chunks."""
        return check_lists(step, built) or check_chunks(step, built)

    def contents(self, built: FaBuilt) -> Contents:
        """Of the metadata."""
        return built.numbers, built.lists

    def differences(self, step: FaStep, used: FaBuilt, fresh: FaBuilt) -> list[Finding]:
        """Order, numbers and lists."""
        if used.order != fresh.order:
            return [Finding("P03", step.number, f"the order is {list(used.order)} after other "
                            f"steps; {list(fresh.order)} on fresh buffers")]
        return super().differences(step, used, fresh)

    def save(self, folder: pathlib.Path, case: str, step: FaStep, built: FaBuilt) -> None:
        """As JSON: there is no plan that `check` could judge."""
        write_metadata(folder / f"step-{step.number}-fa", case, self.contents(built),
                       order=built.order, requests=built.requests)
