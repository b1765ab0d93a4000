"""ATOM's builder and drafter with defects planted, one after the other; run by ATOM's interpreter.

    python atom_plants.py

A plant changes what the unmodified builder is given, or a function that it or the drafter calls.
"""

from __future__ import annotations

import contextlib
import json
import os
from unittest import mock

CASES = ["mla1:2q3s300_1q3s44+1q3s600_1q3s9;heads=16;block=16",
         "mla1:2q1s90_1q1s200;heads=8;block=16;dtype=fp8/fp8;scale=0.5/0.5"]
#: The case is a draft step after a verified one.
DRAFTS = ["mla1:2q1s300_1q1s44;heads=16;block=16"]
#: Plant -> (properties that catch it, whether in draft steps).
PLANTS = {
    "NextTable": ("P01", False),       # pages of the next request
    "KeepsRejected": ("P04", False),   # lengths are the scheduler's, rejected drafts included
    "OneRow": ("P04", False),          # rows of a request as without drafts
    "PlansAnotherBatch": ("P05", False),  # of requests with half of the keys
    "HalfScale": ("P05", False),       # of the cache
    "NoMove": ("P05", True),           # a draft step has the plan of the verified one
    "ForgetsRejected": ("P04", True),  # a draft step goes on after all drafts
}


class _Planted:
    """ATOM's adapter with one defect, and what to patch for it."""

    def __init__(self, engine, plant: str) -> None:
        self._engine, self._plant = engine, plant

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def patches(self):
        """(owner, name, value) of each function that is replaced."""
        module, plant = self._engine._module, self._plant
        pages, planner = module.kv_indices_generate_triton, module.get_mla_metadata_v1

        def shorter(rows, keys, *rest, **named):
            return planner(rows, keys // 2, *rest, **named)

        changed = {
            "NextTable": ("kv_indices_generate_triton",
                          lambda tables, *rest: pages(tables.roll(1, 0), *rest)),
            "PlansAnotherBatch": ("get_mla_metadata_v1", shorter),
            "NoMove": ("decode_update_mla_metadata_v1", lambda *_, **__: None),
        }
        return [(module, *changed[plant])] if plant in changed else []

    def start(self, steps) -> None:
        self._engine.start(steps)
        runner, plant = self._engine._runner, self._plant
        if plant == "OneRow":
            rows = runner.rows
            runner.rows = lambda lengths, requests: rows([1] * len(lengths), requests)

    def attend(self, step, built, q, cache):
        if self._plant == "HalfScale":
            layer = self._engine._layer or self._engine._made_layer(step)
            layer._k_scale = layer._k_scale / 2
        return self._engine.attend(step, built, q, cache)


def main() -> None:
    """A JSON line of each plant: its name, properties that fail, verdicts, some sentences."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where ATOM's packages are
    from mla_testbed.engines.atom import adapter, drafts  # noqa: PLC0415
    from mla_testbed.engines.decode.kind import Decode  # noqa: PLC0415
    from mla_testbed.engines.judge import judge  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = adapter.AtomEngine(Machine("gfx942", 304))
    propose, scheduled = drafts.propose, adapter.scheduled
    for plant, (_, drafting) in {"": ("", False), "sound drafts": ("", True), **PLANTS}.items():
        engine._draft = 2 if drafting else 0
        planted = _Planted(engine, plant)
        with contextlib.ExitStack() as stack:
            for owner, name, value in planted.patches():
                stack.enter_context(mock.patch.object(owner, name, value))
            if plant == "KeepsRejected":
                stack.enter_context(mock.patch.object(
                    adapter, "scheduled", lambda step, rejected: scheduled(step, rejected + 1)))
            if plant == "ForgetsRejected":
                stack.enter_context(mock.patch.object(
                    adapter, "propose", lambda b, r, m, d: propose(
                        b, r, m, type(d)(d.target, d.rejected * 0))))
            found = [judge(Decode(), planted, case, attend=True)
                     for case in (DRAFTS if drafting else CASES)]
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found}),
                              [f.what for j in found for f in j.findings][:3]]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
