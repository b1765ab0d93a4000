"""Scenarios: a small model, how an engine serves it, and which requests come. One line of text."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator

from ...errors import UsageError

VERSION = "e2e1"
#: Of a cache with room to spare.
_TOKENS = 4096
_CHOICES: dict[str, tuple[object, ...]] = {
    "arch": ("gfx942", "gfx950"), "model": ("mla", "llama", "dsa"), "heads": (8, 16, 32, 64, 128),
    "block": (1, 16, 32, 64), "cache": ("bf16", "fp8"), "spec": ("none", "mtp", "ngram", "eagle3"),
    "backend": ("cpu", "aiter"), "scale": (1, 2, 4, 8),
}
_RANGES = {"draft": (0, 8), "graphs": (0, 1), "chunk": (0, 4096), "prefix": (0, 1),
           "requests": (1, 32), "tokens": (1, 256), "longest": (1, 1024), "layers": (1, 8),
           "late": (0, 1), "running": (0, 32), "ranks": (1, 4), "dcp": (1, 8), "share": (1, 8),
           "seed": (0, 2**32 - 1)}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One run of an engine.

    Attributes:
        arch: the GPU. model: "mla" is like DeepSeek-V3, "llama" has no MLA, "dsa" is like
            DeepSeek-V3.2: an indexer selects 128 keys of each row.
        heads: query heads of this GPU, 8 as of a tensor-parallel rank of eight.
        block: tokens of a block. cache: its elements. backend: what executes AITER's operations.
        scale: of an fp8 cache, as the checkpoint has it: an element is stored divided by it.
        spec, draft: speculative decoding, and how many tokens are drafted.
        graphs: full graphs of decode steps, else eager.
        chunk: most tokens of a step, so that prompts are cut; 0 for no limit.
        prefix: requests share a prefix, and come twice, with the cache of prefixes on.
        requests, tokens, longest: how many, tokens that each generates, and of the longest prompt.
        running: most requests of a step; others wait, and get the blocks of those that ended. Every
            second one generates half of the tokens, and every third one shares no prefix. 0: no
            limit, and a cache with room to spare.
        ranks: data-parallel ranks, each a process with every `ranks`-th request. Requests of later
            ranks come later, so that a rank is without requests while others have some.
        dcp: ranks that share each context (decode context parallelism) and the heads, each a
            process: position p is with rank p % dcp.
        share: of a model with an indexer, each `share`-th layer has one; the layers after it take
            its selection.
        layers: of the model. late: late copies, and a host that is ahead of its device.
        seed: of weights and prompts.
    """

    arch: str = "gfx942"
    model: str = "mla"
    heads: int = 16
    block: int = 16
    cache: str = "bf16"
    spec: str = "none"
    draft: int = 0
    graphs: int = 0
    chunk: int = 0
    prefix: int = 0
    requests: int = 6
    tokens: int = 12
    longest: int = 100
    layers: int = 2
    backend: str = "cpu"
    late: int = 0
    running: int = 0
    ranks: int = 1
    dcp: int = 1
    scale: int = 1
    share: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(f"scenario field '{name}' is {getattr(self, name)}; expected "
                                 f"{', '.join(map(str, choices))}")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise UsageError(f"scenario field '{name}' is {getattr(self, name)}; expected "
                                 f"{low} to {high}")
        if (self.spec == "none") != (self.draft == 0):
            raise UsageError(f"scenario fields 'spec' and 'draft' are {self.spec} and {self.draft};"
                             " expected draft=0 for spec=none, and more for others")
        if self.spec == "mtp" and (self.model == "llama" or self.layers != 1):
            raise UsageError("scenario field 'spec' is mtp, whose draft repeats a target of one "
                             f"layer; expected model=mla or dsa and layers=1, found "
                             f"model={self.model};layers={self.layers}")
        if self.spec == "eagle3" and (self.model, self.layers, self.cache, self.ranks) != (
                "mla", 1, "bf16", 1):
            raise UsageError("scenario field 'spec' is eagle3, whose draft repeats a target of one "
                             "layer; expected model=mla, layers=1, cache=bf16 and ranks=1, found "
                             f"model={self.model};layers={self.layers};cache={self.cache};"
                             f"ranks={self.ranks}")
        if self.ranks > 1 and (self.model != "mla" or self.running or self.requests < self.ranks):
            raise UsageError(f"scenario field 'ranks' is {self.ranks}; expected model=mla, "
                             f"running=0 and a request for each, found model={self.model};"
                             f"running={self.running};requests={self.requests}")
        if self.dcp > 1 and (self.model != "mla" or self.ranks > 1 or self.spec != "none"
                             or self.heads * self.dcp > _CHOICES["heads"][-1]):  # type: ignore[operator]
            raise UsageError(f"scenario field 'dcp' is {self.dcp}; expected model=mla, ranks=1, "
                             f"spec=none and at most 128 heads of all ranks, found "
                             f"model={self.model};ranks={self.ranks};spec={self.spec};"
                             f"heads={self.heads}")
        if self.scale != 1 and (self.model != "mla" or self.cache != "fp8"):
            raise UsageError(f"scenario field 'scale' is {self.scale}; expected 1, or model=mla "
                             f"and cache=fp8, found model={self.model};cache={self.cache}")
        if self.share > 1 and (self.model != "dsa" or self.share > self.layers):
            raise UsageError(f"scenario field 'share' is {self.share}; expected 1, or model=dsa "
                             f"and as many layers, found model={self.model};layers={self.layers}")
        if self.model == "llama" and (self.cache != "bf16" or self.block not in (16, 32)):
            raise UsageError(f"scenario field 'model' is llama; expected cache=bf16 and block=16 "
                             f"or 32, found cache={self.cache};block={self.block}")

    def __str__(self) -> str:
        fields = ";".join(f"{field.name}={getattr(self, field.name)}"
                          for field in dataclasses.fields(self)
                          if getattr(self, field.name) != field.default)
        return f"{VERSION}:{fields}"

    @classmethod
    def parse(cls, text: str) -> Scenario:
        """A line such as "e2e1:arch=gfx950;heads=8", or a name of NAMED.

        Raises:
            UsageError: it is neither, with the field and what was expected.
        """
        if text in NAMED:
            return NAMED[text]
        head, colon, rest = text.partition(":")
        if head != VERSION or not colon:
            raise UsageError(f"scenario '{text}' is unknown; expected {VERSION}:FIELD=VALUE;… or "
                             f"one of {', '.join(NAMED)}")
        known = {field.name: field for field in dataclasses.fields(cls)}
        given: dict[str, str | int] = {}
        for part in filter(None, rest.split(";")):
            name, equals, value = part.partition("=")
            if name not in known or not equals:
                raise UsageError(f"scenario field '{part}' is unknown; expected FIELD=VALUE with "
                                 f"one of {', '.join(known)}")
            if name in given:
                raise UsageError(f"scenario field '{name}' is given twice")
            if isinstance(known[name].default, int):
                if not (value.isascii() and value.isdecimal() and len(value) <= 10):  # noqa: PLR2004
                    raise UsageError(f"scenario field '{name}' is '{value}'; expected a number")
                given[name] = int(value)
            else:
                given[name] = value
        return cls(**given)  # type: ignore[arg-type]

    def tokens_of(self, number: int) -> int:
        """Tokens that a request generates."""
        return max(self.tokens // 2, 1) if self.running and number % 2 == 0 else self.tokens

    @property
    def processes(self) -> int:
        """Ranks of either kind."""
        return self.ranks * self.dcp

    def blocks(self, reserve: int) -> int:
        """Blocks of the cache: with `running` one fewer than as many requests can need.

        Args:
            reserve: tokens that an engine allocates ahead for a request.
        """
        if not self.running:
            return -(-_TOKENS // self.block)
        need = -(-(self.longest + self.tokens + reserve) // self.block)
        return max(self.running * need - 1, need)

    def changed(self, **fields: object) -> Scenario:
        """A copy with other fields."""
        return dataclasses.replace(self, **fields)  # type: ignore[arg-type]


NAMED: dict[str, Scenario] = {
    "bf16": Scenario(),
    "bf16-gfx950": Scenario(arch="gfx950"),
    "heads8": Scenario(heads=8),
    "block1": Scenario(block=1),
    "block64": Scenario(arch="gfx950", block=64),
    "chunked": Scenario(chunk=32, prefix=1, late=1),
    "queue": Scenario(requests=8, running=3, tokens=8, longest=60, chunk=48, prefix=1),
    "mtp": Scenario(layers=1, spec="mtp", draft=3),
    "mtp-graphs": Scenario(layers=1, spec="mtp", draft=3, graphs=1, late=1),
    "mtp1-heads8": Scenario(arch="gfx950", heads=8, layers=1, spec="mtp", draft=1, graphs=1),
    "ngram": Scenario(spec="ngram", draft=3),
    "eagle3": Scenario(layers=1, spec="eagle3", draft=3),
    "eagle3-graphs": Scenario(layers=1, spec="eagle3", draft=3, graphs=1, late=1),
    "fp8": Scenario(cache="fp8"),
    "fp8-gfx950": Scenario(arch="gfx950", cache="fp8", heads=8),
    "machine-code": Scenario(arch="gfx950", backend="aiter"),
    "dsa": Scenario(arch="gfx950", model="dsa", requests=3, tokens=6, longest=200),
    "dsa64": Scenario(arch="gfx950", model="dsa", block=64, requests=3, tokens=6, longest=200),
    "dsa-fp8": Scenario(arch="gfx950", model="dsa", cache="fp8", requests=3, tokens=6, longest=200),
    "dsa-chunked": Scenario(arch="gfx950", model="dsa", block=64, requests=3, tokens=6,
                            longest=200, chunk=96, prefix=1, late=1),
    "dsa-graphs": Scenario(model="dsa", block=1, requests=3, tokens=6, longest=180, graphs=1,
                           layers=1),
    "dsa-mtp": Scenario(model="dsa", spec="mtp", draft=3, requests=3, tokens=8, longest=200,
                        graphs=1, layers=1),
    "dsa-share": Scenario(arch="gfx950", model="dsa", requests=3, tokens=6, longest=200, layers=3,
                          share=3),
    "idle": Scenario(requests=3, tokens=8, longest=60, ranks=2),
    "idle-graphs": Scenario(requests=5, tokens=8, longest=60, ranks=2, graphs=1, chunk=32,
                            prefix=1, late=1),
    "dcp": Scenario(arch="gfx950", requests=3, tokens=8, longest=60, dcp=2),
    "fa": Scenario(model="llama", heads=8, chunk=32, prefix=1),
}


def drawn(seed: int, count: int) -> Iterator[Scenario]:
    """Random scenarios, the same for the same seed."""
    random_of = random.Random(seed)
    while count:
        pick = random_of.choice
        model = pick(("mla", "mla", "mla", "llama"))
        spec = pick(("none", "none", "mtp", "ngram")) if model == "mla" else "none"
        yield Scenario(
            arch=pick(("gfx942", "gfx950")), model=model,
            heads=pick((8, 16)) if model == "mla" else 8,
            block=pick((1, 16, 64)) if model == "mla" else 16,
            cache=pick(("bf16", "bf16", "fp8")) if model == "mla" and spec == "none" else "bf16",
            spec=spec, draft=pick((1, 2, 3)) if spec != "none" else 0, graphs=pick((0, 1)),
            chunk=pick((0, 0, 32, 64)), prefix=pick((0, 1)), requests=random_of.randint(1, 6),
            tokens=random_of.randint(4, 12), longest=random_of.randint(3, 120),
            layers=1 if spec == "mtp" else pick((1, 2)), late=pick((0, 1)),
            running=pick((0, 0, 2, 3)),
            seed=random_of.randint(0, 9999))
        count -= 1
