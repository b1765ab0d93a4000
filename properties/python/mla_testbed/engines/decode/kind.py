"""MLA decode."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..adapt import common
from ..step import EngineStep, steps_of
from .built import Built
from .lists import check_lists
from .opinion import opinions_of
from .plans import OfPlans
from .result import Part


class Decode(OfPlans[EngineStep]):
    """Each request of the decode part attends to all of its keys."""

    name = "decode"
    adapters: ClassVar = {"vllm": "mla_testbed.engines.vllm.adapter:VllmEngine",
                          "sglang": "mla_testbed.engines.sglang.adapter:SglangEngine",
                          "atom": "mla_testbed.engines.atom.adapter:AtomEngine"}
    adapt = staticmethod(common)
    steps = staticmethod(steps_of)
    lists = staticmethod(check_lists)
    opinions = staticmethod(opinions_of)

    def drawn(self, case: str) -> str:
        """Each case: what it has beside requests and a cache is set aside."""
        return case

    def part(self, step: EngineStep, built: Built) -> Part:
        """The rows of each request, over its keys."""
        live = built.live
        return Part(live, np.cumsum([0, *(step.query_lens[i] for i in live)]),
                    [step.token_slots(i) for i in live])
