"""Serves scenarios of whole engines with one plant each, in forks of one process."""

import json
import os


def serve(engine, plants, scenarios, imported):
    """Prints a line of JSON for each: plant, verdict, fault, findings, tokens that are equal and
    all, seconds, and drafts accepted and steps replayed.

    Args:
        engine: its package in mla_testbed.engines. plants: functions of the engine, by name.
        scenarios: plant -> scenario of one machine and one model; "none" is without a plant.
        imported: called before the first fork.
    """
    import torch  # noqa: PLC0415 where the engine is
    from mla_testbed._options import COMPUTE_UNITS  # noqa: PLC0415
    from mla_testbed.engines.e2e import model, prompts, worker  # noqa: PLC0415
    from mla_testbed.engines.e2e.judged import Result  # noqa: PLC0415
    from mla_testbed.engines.e2e.scenario import Scenario  # noqa: PLC0415

    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asked = {}
    for text in set(scenarios.values()):
        scenario = Scenario.parse(text)
        made = model.make(scenario)
        asked[text] = scenario, made, prompts.ask(scenario, made)
    scenario = asked[scenarios["none"]][0]
    whole = engine.Whole(scenario, COMPUTE_UNITS[scenario.arch])
    imported()
    for plant, text in scenarios.items():
        child = os.fork()
        if child == 0:
            result = Result(text)
            try:
                plants.get(plant, lambda whole: None)(whole)
                worker.serve(*asked[text], whole, result, worker.Clock(result.seconds))
            except BaseException as e:  # noqa: BLE001
                result.verdict = "inconclusive"
                result.findings.append(repr(e))
            out.write(json.dumps([plant, result.verdict, result.fault, result.findings,
                                  result.equal, result.tokens, result.seconds,
                                  [result.accepted, result.replayed]]) + "\n")
            out.flush()
            os._exit(0)
        os.waitpid(child, 0)
