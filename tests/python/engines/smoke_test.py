"""A short run over an installed engine, for every change (smoke.sh makes its environment).

Skipped unless MLA_TESTBED_SMOKE names the engine that this interpreter has.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from mla_testbed import UsageError
from mla_testbed._options import COMPUTE_UNITS
from mla_testbed.engines import adapt
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.run import drawn

ENGINE = os.environ.get("MLA_TESTBED_SMOKE", "")
if not ENGINE:
    pytest.skip("MLA_TESTBED_SMOKE names no engine (tests/python/engines/smoke.sh)",
                allow_module_level=True)
#: With AITER's sources, of any version, a few cases are attended; without them the planners are
#: this project's.
HOW = ["--attend", "3", "--ported"] if os.environ.get("AITER_SRC") else ["--without-aiter"]
#: A defect of each engine's version that no attention is needed for. Its witness is a case of every
#: run, so the ledger names it only if the failure is seen.
SHOWN = {"vllm": "VLLM-04", "sglang": "SGLANG-11"}


def machine_of(case, arch):
    try:
        return adapt.product(adapt.common(CaseLine.parse(case), arch))
    except UsageError:  # a batch that no engine schedules
        return None


def cases_of(arch):
    """Half of fifty, those of one machine: each further one is another import of the engine."""
    wanted = (arch, COMPUTE_UNITS[arch])
    return [case for case in drawn(1, 200) if machine_of(case, arch) == wanted][:25]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_random_cases_fail_only_as_the_ledger_says(arch, tmp_path):
    (tmp_path / "cases.txt").write_text("\n".join(cases_of(arch)) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "run", "--cases-file", tmp_path / "cases.txt",
         "--engine", ENGINE, "--arch", arch, *HOW],
        capture_output=True, text=True, timeout=900, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    right = re.search(r"cases (\d+): (\d+) pass", done.stdout)
    steps = re.search(r"steps (\d+) built, (\d+) planned, (\d+) for graphs, (\d+) attended",
                      done.stdout)
    assert int(right[1]) >= 25
    assert int(right[2]) >= 12
    assert int(steps[1]) >= 15
    assert int(steps[2]) >= 8
    assert int(steps[3]) >= 1
    if arch == "gfx942":
        assert f"known-fail {SHOWN[ENGINE]}: " in done.stdout
    if "--without-aiter" in HOW:
        assert int(steps[4]) == 0
        assert "aiter none" in done.stdout
    else:
        assert int(steps[4]) >= 3


#: A file of each engine's repository, and an edit that makes lists of keys too short.
EDITS = {"vllm": ("vllm/v1/attention/backends/mla/rocm_aiter_mla.py",
                  "seq_lens_for_kernel.cumsum(", "(seq_lens_for_kernel - 1).cumsum("),
         "sglang": ("python/sglang/srt/layers/attention/aiter_backend.py",
                    "torch.cumsum(forward_batch.seq_lens,",
                    "torch.cumsum(forward_batch.seq_lens - 1,")}


def test_a_pull_request_that_breaks_a_list_is_worse(tmp_path):
    file, old, new = EDITS[ENGINE]
    package = pathlib.Path(importlib.util.find_spec(ENGINE).origin).parent
    repository = tmp_path / "repository"
    shutil.copytree(package, repository / file.partition(f"{ENGINE}/")[0] / ENGINE,
                    ignore=shutil.ignore_patterns("__pycache__", "_version.py"))

    def git(*words):
        subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b",
                        *words], check=True, capture_output=True)

    git("init", "-q")
    text = (repository / file).read_text()
    for one in (text, text.replace(old, new, 1)):
        (repository / file).write_text(one)
        git("add", "-A")
        git("commit", "-qm", "one")
    (tmp_path / "cases.txt").write_text("mla1:2q1s40;heads=16;arch=gfx942\n")
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "compare", "--engine", ENGINE, "--src",
         repository, "--base", "HEAD~1", "--cases-file", tmp_path / "cases.txt",
         *([] if os.environ.get("AITER_SRC") else ["--without-aiter"])],
        capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "MLA_TESTBED_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"1 files of the MLA differ: {file}\nWORSE gfx942 mla1:1q1s1;heads=16;" in done.stdout
    assert "  P04 fails: step 0: seqlens_kv_indptr gives request 0 0 pages" in done.stdout
    assert "NOT JUDGED" not in done.stdout


@pytest.mark.skipif(ENGINE != "vllm", reason="sparse MLA is judged on vLLM only")
def test_random_cases_of_sparse_mla_pass(tmp_path):
    wanted = ("gfx942", COMPUTE_UNITS["gfx942"])
    cases = [case for case in drawn(1, 80, "sparse") if machine_of(case, "gfx942") == wanted][:15]
    (tmp_path / "cases.txt").write_text("\n".join(cases) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "run", "--cases-file", tmp_path / "cases.txt",
         "--engine", ENGINE, "--kind", "sparse", "--arch", "gfx942", *HOW],
        capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases 15: 15 pass" in done.stdout
    attended = re.search(r"(\d+) planned, \d+ for graphs, (\d+) attended", done.stdout)
    assert int(attended[1]) >= 12
    assert int(attended[2]) >= (0 if "--without-aiter" in HOW else 3)
