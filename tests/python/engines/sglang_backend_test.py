"""An installed SGLang under the judge. MLA_TESTBED_SGLANG names its virtual environment."""

import json
import os
import re
import subprocess

import pytest
from mla_testbed.engines.client import Setting, Worker, interpreter
from mla_testbed.engines.findings import PASS, REFUSED

pytestmark = pytest.mark.skipif(
    "MLA_TESTBED_SGLANG" not in os.environ or "AITER_SRC" not in os.environ,
    reason="MLA_TESTBED_SGLANG names no environment with SGLang, or AITER_SRC no AITER")
UNITS = {"gfx942": 304, "gfx950": 256}


@pytest.fixture(scope="module", params=sorted(UNITS))
def worker(request):
    made = Worker(Setting("sglang"), request.param, UNITS[request.param])
    yield made
    made.close()


# Graph padding has one key, which planner v1.0 cannot do on gfx950: 32 heads have v1.2.
@pytest.mark.parametrize(("case", "planned", "replayed"), [
    ("mla1:2q1s300_1q1s233;heads=16;dtype=fp8/fp8", 1, 0),
    ("mla1:2q1s300_1q1s233;heads=16;dtype=bf16/bf16", 0, 0),
    ("mla1:2q1s300_1q1s233;heads=32;dtype=bf16/bf16;block=64", 1, 0),
    ("mla1:2q1s300_1q1s233;heads=64;dtype=fp8/fp8;block=16;scale=0.5/0.5", 1, 0),
    ("mla1:2q4s300_1q4s233;heads=16;dtype=fp8/fp8;data=normal.2", 1, 0),
    ("mla1:2q4s300_1q4s233;heads=16;dtype=fp8/fp8;data=normal.3", 1, 0),
    ("mla1:3q1s300+2q1s400+3q1s301;heads=16;dtype=fp8/fp8", 3, 0),
    ("mla1:2q1s300_1q1s233;heads=32;dtype=fp8/fp8;pad=5", 1, 1),
    ("mla1:2q4s300;heads=32;dtype=fp8/fp8;data=normal.2;pad=2", 1, 1),
    ("mla1:2q4s300;heads=32;dtype=fp8/fp8;data=normal.3;pad=2", 1, 1),
    ("mla1:3q1s300+1q1s400+2q1s210;heads=32;dtype=fp8/fp8;pad=1", 3, 3),
    ("mla1:2q1s300+2q4s304;heads=32;dtype=fp8/fp8;data=normal.2;pad=1", 2, 2),
])
def test_lists_plan_and_result_of_a_step_are_right(worker, case, planned, replayed):
    found = worker.ask(case, attend=True)
    assert (found.verdict, found.findings) == (PASS, ())
    steps = case.count("+") + 1
    assert (found.built, found.planned, found.attended) == (steps, planned, steps)
    assert found.replayed == replayed


def test_heads_that_the_constructor_asserts_against_are_refused_with_its_sentence(worker):
    worker.hello()
    if not worker.version.startswith(("0.5.12", "0.5.13", "0.5.18")):
        pytest.skip(f"SGLang {worker.version} takes every number of heads up to 16")
    found = worker.ask("mla1:1q1s300;heads=5")
    assert found.verdict == REFUSED
    assert "Provided 5 number of heads" in found.reason


#: What the defects command says, by version and defect: shown, here with other words, or not here.
STATUS = {
    ("0.5.12.post1", "gfx942"): {"SHOWN": {"aiter#3496", "sglang#24587", "sglang#31221", "globals",
                                           "query-dtype", "lost-keys", "dp-splits"}},
    ("0.5.18", "gfx942"): {"SHOWN": {"sglang#31221", "sglang#38709", "globals", "query-dtype",
                                     "lost-keys", "dp-splits"}},
    ("0.5.19", "gfx942"): {"SHOWN": {"sglang#31221", "sglang#38709", "globals", "query-dtype",
                                     "reduce-table", "lost-keys", "dp-splits", "moved-index-keys"},
                           "OTHER": {"gluon-gfx942"}},
    ("0.5.23", "gfx942"): {"SHOWN": {"sglang#31221", "globals", "query-dtype", "reduce-table",
                                     "gluon-gfx942", "lost-keys", "dp-splits"},
                           "OTHER": {"sglang#38709"}},
    ("0.5.18", "gfx950"): {"SHOWN": {"sglang#38709", "globals", "short-requests",
                                     "more-heads"}},
    ("0.5.19", "gfx950"): {"SHOWN": {"sglang#38709", "globals", "reduce-table", "short-requests",
                                     "more-heads", "moved-index-keys"}},
    ("0.5.23", "gfx950"): {"SHOWN": {"globals", "reduce-table", "need_lse", "short-requests",
                                     "more-heads"}},
}


def run(*arguments):
    return subprocess.run([interpreter(Setting("sglang")), *arguments], capture_output=True,
                          text=True, check=False, timeout=600)


@pytest.mark.parametrize("arch", sorted(UNITS))
def test_the_defects_of_a_version_are_shown_and_no_others(arch):
    found = run("-m", "mla_testbed.engines.sglang.defects", "--arch", arch)
    lines = re.findall(r"^(SHOWN|OTHER|not here|not run) (\S+) .*engine=sglang (\S+)",
                       found.stdout, re.MULTILINE)
    assert len(lines) == len({name for _, name, _ in lines}) == 14, found.stderr[-2000:]
    version = lines[0][2]
    if (version, arch) not in STATUS:
        pytest.skip(f"no record of the defects of SGLang {version} on {arch}")
    expected = {word: set() for word in ("SHOWN", "OTHER")} | STATUS[version, arch]
    assert {word: {name for said, name, _ in lines if said == word}
            for word in expected} == expected
    assert found.returncode == 1


IN_PROCESS = """
import json, os, sys
import numpy as np
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
from mla_testbed import check
from mla_testbed.engines import Machine
from mla_testbed.engines.step import steps_of
from mla_testbed.engines.sglang import attention
from mla_testbed.engines.sglang.adapter import SglangEngine
arch, units = sys.argv[1], int(sys.argv[2])
engine = SglangEngine(Machine(arch, units))
of = lambda text: steps_of(f"mla1:{text};arch={arch};cu={units}")[0]
step = of("2q1s300;heads=32;dtype=fp8/fp8")
engine.start([step])
idle = engine.idle(step, 2)
lists = idle.bundle.arrays
found = {"requests": idle.requests, "valid": check(idle.bundle).valid, "planned": idle.planned,
         "kv": lists["seqlens_kv_indptr"].tolist(), "pages": lists["kv_indices"].tolist()}
step = of("1q40s40_1q19s19;heads=16;dtype=fp8/fp8")
engine.start([step])
built = engine.build(step)
found["prefill plans"] = [check(other).valid for other in built.others]
if built.others:
    draw = np.random.default_rng(1).standard_normal
    bf16 = lambda a: (a.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    q, k, v = (bf16(draw((59, 16, n))) for n in (192, 192, 128))
    seen = attention.prefill(engine.backend, step, built, (q, k, v))
    worst = 0.0
    import torch
    q, k, v = (torch.from_numpy(a).to(torch.float8_e4m3fn).float().numpy() for a in (q, k, v))
    for a, b in ((0, 40), (40, 59)):
        s = np.einsum("ihd,jhd->hij", q[a:b], k[a:b]).astype(float) * attention.SCALE
        s[:, ~np.tri(b - a, dtype=bool)] = -np.inf
        p = np.exp(s - s.max(-1, keepdims=True)); p /= p.sum(-1, keepdims=True)
        worst = max(worst, np.abs(np.einsum("hij,jhd->ihd", p, v[a:b]) - seen[a:b]).max())
    found["worst"] = worst
json.dump(found, out)
"""


@pytest.mark.parametrize("arch", sorted(UNITS))
def test_an_idle_rank_gets_a_plan_of_padding_and_a_prefill_is_right(arch):
    found = run("-c", IN_PROCESS, arch, str(UNITS[arch]))
    assert found.returncode == 0, found.stderr[-2000:]
    seen = json.loads(found.stdout)
    assert seen["requests"] == [-1, -1]
    assert (seen["valid"], seen["planned"]) == (True, True)
    assert (seen["kv"], seen["pages"]) == ([0, 1, 2], [0, 0])
    if arch == "gfx942":
        assert seen["prefill plans"] == []  # bf16 attention without a plan
    else:
        assert seen["prefill plans"] == [True]
        assert seen["worst"] < 0.1  # probabilities are rounded to fp8, results to bf16
