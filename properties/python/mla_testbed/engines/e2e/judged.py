"""One scenario, served and judged."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

from ..findings import FAIL, INCONCLUSIVE, PASS


@dataclasses.dataclass
class Result:
    """What a process says of its scenario.

    Attributes:
        scenario, engine, version, aiter: what ran.
        verdict: PASS, FAIL, INCONCLUSIVE, or KNOWN. findings: sentences, the first one first.
        known: entries of a ledger that explain them.
        equal, tokens: tokens as float32 chooses them, of all. margin: of the prompts; 0: none.
        regret, allowed: by how much a chosen logit was below the best, and what rounding explains.
        worst: share of its bound that a tensor used at most.
        fault: the first tensor that left its bound, as a dictionary of finder.Fault.
        steps, replayed, cached: steps, those that a graph ran, tokens from the prefix cache.
        lists: steps whose decode lists and plan were judged.
        drafts, accepted: draft tokens. drafted: those that were held against the draft model.
        idle: of several ranks: steps of each in which it had no request.
        stand_ins: operations that neither vLLM nor AITER ran, with calls.
        seconds: of each part. bundle: folder that `mla-testbed check` reads.
        ported: in place of which modules of AITER ours ran (ported.Ported.as_json).
        own: what is said of modules of AITER's own.
        answers: of each request "request", the length of its "prompt", and tokens: those that
            float32 has "expected", and those that were "given".
    """

    scenario: str
    engine: str = ""
    version: str = ""
    aiter: str = ""
    verdict: str = PASS
    findings: list[str] = dataclasses.field(default_factory=list)
    known: list[str] = dataclasses.field(default_factory=list)
    equal: int = 0
    tokens: int = 0
    margin: float = 0.0
    regret: float = 0.0
    allowed: float = 0.0
    worst: dict[str, float] = dataclasses.field(default_factory=dict)
    fault: dict[str, Any] | None = None
    steps: int = 0
    replayed: int = 0
    cached: int = 0
    lists: int = 0
    drafts: int = 0
    accepted: int = 0
    drafted: int = 0
    idle: list[int] = dataclasses.field(default_factory=list)
    stand_ins: dict[str, int] = dataclasses.field(default_factory=dict)
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    bundle: str = ""
    ported: dict[str, Any] | None = None
    own: list[str] = dataclasses.field(default_factory=list)
    answers: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def found(self, sentence: str) -> None:
        """A failure."""
        self.verdict = FAIL
        self.findings.append(sentence)

    def unknown(self, sentence: str) -> None:
        """Nothing is said about the engine, unless it failed already."""
        self.verdict = FAIL if self.verdict == FAIL else INCONCLUSIVE
        self.findings.append(sentence)

    def write(self, path: pathlib.Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: pathlib.Path) -> Result:
        """What write() wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))
