"""MLA decode of several ranks that share each context."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any, ClassVar

import numpy as np

from ..adapt import common
from ..decode import result as decode_result
from ..decode.built import PADDING
from ..decode.kind import Decode
from ..decode.plans import check_plan, save_plans
from ..facts import facts_of
from ..findings import Finding
from ..kind import Contents, Kind, stale, words_of
from ..step import EngineStep, steps_of
from . import result
from .built import Engine, RankBuilt, Rows
from .lists import check_ranks, of_rank

_DECODE = Decode()


class Ranks(Kind[EngineStep, RankBuilt]):
    """Each rank attends to its keys, with the query heads of all; results are merged by their LSE.

    A case is one of kind decode. How many ranks there are is an option of the adapter.
    """

    name = "ranks"
    adapters: ClassVar = {"vllm": "mla_testbed.engines.vllm.ranks_adapter:VllmRanks"}
    in_cases = False
    adapt = staticmethod(common)
    steps = staticmethod(steps_of)

    def drawn(self, case: str) -> str:
        """Each case: what it has beside requests and a cache is set aside."""
        return case

    def refuses(self, engine: Engine, step: EngineStep) -> str | None:
        """Engines of this kind say it themselves."""
        return engine.refuses(step)

    def facts(self, step: EngineStep, built: RankBuilt | None) -> dict[str, Any]:
        """Those of decode; `ranks`, `interleave`, the `route`, and how many `gathered` heads."""
        facts = {**facts_of(step), "kind": self.name}
        if built is not None:
            ours, world = built.parts[0], built.shard.world
            facts.update(planned=built.planned, padding=ours.built.requests.count(PADDING),
                         elsewhere=len(ours.built.elsewhere), ranks=world, route=ours.route,
                         interleave=built.shard.interleave, gathered=step.heads * world)
        return facts

    def check(self, step: EngineStep, built: RankBuilt) -> list[Finding]:
        """Lists of all ranks, and the plan of each."""
        found = check_ranks(step, built)
        for rank, part in enumerate(built.parts):
            share = built.shard.share(step, rank)
            plans = [part.built.bundle] if part.built.planned and not found else []
            for bundle in (*plans, *part.built.others):
                assert bundle is not None
                found = found + of_rank(rank, check_plan(share, bundle))
        return found

    def opinions(self, engine: str, step: EngineStep, built: RankBuilt) -> list[str]:
        """None: our core plans for one rank."""
        return []

    def affordable(self, step: EngineStep, built: RankBuilt) -> bool:
        """Whether attention of all ranks and its reference take a few seconds."""
        if not built.decodes:
            return False
        part = result.whole(step, built.shard, built.live)
        return decode_result.affordable(built.shard.gathered(step), part)

    def attend(self, engine: Engine, step: EngineStep, built: RankBuilt) -> list[Finding]:
        """Each rank over its keys, and all together, against dense attention.

        Slots without a key are NaN. Where that comes out, it is said once, and the rest is judged
        with a finite value in them.
        """
        q, cache = result.inputs(step, built.shard, built.live)
        found, hidden = self._attended(engine, step, built, q, cache)
        if not hidden:
            return found
        finite = result.without_nan(step, cache)
        others, _ = self._attended(engine, step, built, q, finite)
        return others or [dataclasses.replace(
            found[0], property="P37", details=found[0].details, what=f"{found[0].what}: a NaN in a "
            "slot without a key comes out; with a finite value there the result is right")]

    def _attended(
        self, engine: Engine, step: EngineStep, built: RankBuilt, q: list[np.ndarray],
        cache: np.ndarray,
    ) -> tuple[list[Finding], bool]:
        """What is wrong, and whether NaN is among it."""
        shard = built.shard
        caches = [shard.cache(step, cache, rank) for rank in range(shard.world)]
        attended = engine.attend(step, built, q, caches)
        found = result.check(step, built, attended, np.concatenate(q, axis=1), cache)
        return found, bool(found) and any(np.isnan(out).any() for out in attended.out)

    def contents(self, built: RankBuilt) -> Contents:
        """Of the decode part of the first rank."""
        return _DECODE.contents(built.parts[0].built)

    def differences(self, step: EngineStep, used: RankBuilt, fresh: RankBuilt) -> list[Finding]:
        """Of each rank those of decode, and of lists by rows."""
        for rank, (ours, anew) in enumerate(zip(used.parts, fresh.parts, strict=True)):
            found = _DECODE.differences(step, ours.built, anew.built)
            found += stale(step, _of_rows(ours.rows), _of_rows(anew.rows))
            if found:
                return of_rank(rank, found)
        return []

    def words(self, built: RankBuilt) -> dict[str, list[Any]]:
        """Of each rank those of decode, and of lists by rows."""
        return {f"rank {rank} {name}": words for rank, part in enumerate(built.parts)
                for name, words in (_DECODE.words(part.built)
                                    | words_of(_of_rows(part.rows))).items()}

    def save(self, folder: pathlib.Path, case: str, step: EngineStep, built: RankBuilt) -> None:
        """A bundle for each plan of each rank."""
        for rank, part in enumerate(built.parts):
            save_plans(folder, case, step, part.built, f"-rank-{rank}")


def _of_rows(rows: Rows | None) -> Contents:
    if rows is None:
        return {}, {}
    return {"page_size": rows.page_size}, {"row_lens": rows.lens}
