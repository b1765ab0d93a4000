"""C++ of AITER that was changed, and ports that run in its place: said, and no verdict.

The trees are written here, with the SHA-256 of their own files as what the ports follow.
"""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")

import aiter_caller  # noqa: E402
from mla_testbed import aiter_suite  # noqa: E402
from mla_testbed.aiter import sources  # noqa: E402
from mla_testbed.aiter.jit_directory import LIBRARIES, MODULES  # noqa: E402
from mla_testbed.aiter.suite import ledger, report, runner  # noqa: E402
from mla_testbed.aiter.suite.tests import AiterTest  # noqa: E402

PLANNER = "csrc/kernels/mla/metadata.cu"
DEVICE = "csrc/kernels/mla/metadata/v1_2_device.cuh"
REDUCE = "csrc/kernels/mla/reduce.cu"
HEADER = "csrc/include/mla.h"
FILES = {PLANNER: '#include "metadata/v1_2_device.cuh"\n', DEVICE: '#include "mla.h"\nint tiles;\n',
         REDUCE: '#include "mla.h"\n', HEADER: "#pragma once\n"}

# Plans and merges nothing: imports are what counts as use.
USES = """
import ctypes, importlib, os, sys
sys.path.insert(0, os.environ["AITER_JIT_DIR"])
import aiter
for name in {names!r}.split():
    if name == "module_mla_asm":
        ctypes.CDLL(os.path.join(os.environ["AITER_JIT_DIR"], name + ".so"))
    else:
        importlib.import_module(name)
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A tree that is the version that the ports follow: a sitecustomize names its own table."""
    made = aiter_caller.write_tree(tmp_path / "tree")
    for roots in sources.ROOTS.values():
        for file in roots:
            (made / "csrc" / file).parent.mkdir(parents=True, exist_ok=True)
            (made / "csrc" / file).write_text(f"// {file}\n")
    for file, text in FILES.items():
        (made / file).parent.mkdir(parents=True, exist_ok=True)
        (made / file).write_text(text)
    table = tmp_path / "table.json"
    table.write_text(json.dumps(sources.table_of(made, "v7")))
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import pathlib\nfrom mla_testbed.aiter import sources\n"
        f"sources.compare.__defaults__ = (pathlib.Path({str(table)!r}),)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ["PYTHONPATH"]]))
    return made


def change(tree, file):
    (tree / file).write_text("#error\n" + (tree / file).read_text())


def python(tree, tmp_path, *options, names="module_mla_metadata", more=""):
    script = tmp_path / "script.py"
    script.write_text(USES.format(names=names) + more)
    return subprocess.run(
        [sys.executable, "-m", "mla_testbed.python_command", "--aiter", str(tree), *options, "--",
         str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)


def test_a_changed_source_ends_with_4_and_the_names_of_file_and_module(tree, tmp_path):
    change(tree, DEVICE)
    done = python(tree, tmp_path)
    assert done.returncode == 4, done.stderr
    assert (f"{DEVICE} differs from AITER v7, and its change did not run: the port in place of "
            "module_mla_metadata does not contain it") in done.stderr
    assert "run it with `--modules own`" in done.stderr


def test_the_ports_are_named_and_nothing_else_where_the_sources_are_the_same(tree, tmp_path):
    done = python(tree, tmp_path, names="module_mla_metadata module_mla_reduce")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "mla-testbed-python: not AITER's C++ but mla-testbed's ports of AITER v7 ran: "
        "module_mla_metadata, module_mla_reduce"]


def test_ported_accepts_a_change_and_still_names_it(tree, tmp_path):
    change(tree, DEVICE)
    done = python(tree, tmp_path, "--ported")
    assert done.returncode == 0
    assert f"{DEVICE} differs from AITER v7" in done.stderr
    assert "or accept the ports" not in done.stderr


def test_sources_of_modules_that_were_not_used_are_not_compared(tree, tmp_path):
    change(tree, REDUCE)
    assert python(tree, tmp_path).returncode == 0
    done = python(tree, tmp_path, names="module_mla_reduce")
    assert done.returncode == 4
    assert f"{REDUCE} differs" in done.stderr


def test_a_changed_header_names_every_module_that_includes_it(tree, tmp_path):
    change(tree, HEADER)
    done = python(tree, tmp_path, names="module_mla_metadata module_mla_reduce module_quant")
    assert done.returncode == 4
    assert "in place of module_mla_metadata, module_mla_reduce does not contain it" in done.stderr


def test_a_library_that_ctypes_loads_is_used(tree, tmp_path):
    change(tree, "csrc/py_itfs_cu/asm_mla.cu")
    assert python(tree, tmp_path).returncode == 0
    done = python(tree, tmp_path, names="module_mla_asm")
    assert done.returncode == 4
    assert "in place of module_mla_asm does not" in done.stderr


def test_what_a_fork_of_the_process_uses_counts(tree, tmp_path):
    change(tree, REDUCE)
    done = python(tree, tmp_path, more=(
        "if os.fork() == 0:\n    import module_mla_reduce\n    os._exit(0)\nos.wait()\n"))
    assert done.returncode == 4
    assert f"{REDUCE} differs" in done.stderr


def test_a_failure_of_the_script_keeps_its_code_and_the_change_is_named(tree, tmp_path):
    change(tree, DEVICE)
    done = python(tree, tmp_path, more="sys.exit(7)\n")
    assert done.returncode == 7
    assert f"{DEVICE} differs" in done.stderr


def test_line_endings_are_no_change_and_a_missing_file_is_one(tree, tmp_path):
    text = (tree / DEVICE).read_text()
    (tree / DEVICE).write_bytes(text.replace("\n", "\r\n").encode())
    assert python(tree, tmp_path).returncode == 0
    (tree / DEVICE).unlink()
    done = python(tree, tmp_path)
    assert done.returncode == 4
    assert f"{DEVICE} differs" in done.stderr


def test_a_tree_without_sources_is_no_change_and_said(tree, tmp_path):
    (tree / "csrc" / "kernels").rename(tree / "csrc" / "elsewhere")
    done = python(tree, tmp_path)
    assert done.returncode == 0
    assert (f"whether this AITER's C++ is that of v7 is not known: '{tree}' has no csrc/kernels"
            in done.stderr)


def test_the_sources_of_an_installed_package_lie_below_aiter_meta(tree):
    (tree / "aiter_meta").mkdir()
    (tree / "csrc").rename(tree / "aiter_meta" / "csrc")
    table = tree.parent / "table.json"
    assert not sources.compare(tree, ["module_mla_reduce"], table).changed
    (tree / "aiter_meta" / REDUCE).write_text("garbage }}}\n")
    assert sources.compare(tree, ["module_mla_reduce"], table).changed == {
        REDUCE: ("module_mla_reduce",)}


SUITE = """
import torch
torch.set_default_device("cuda")
def test_one():
    import os, sys
    sys.path.insert(0, os.environ["AITER_JIT_DIR"])
    import aiter
    import module_mla_reduce
"""


def pytest_of(tree, tmp_path, *options):
    (tmp_path / "suite").mkdir(exist_ok=True)
    (tmp_path / "suite" / "test_suite.py").write_text(SUITE)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "mla_testbed.pytest_plugin", "-p",
         "no:cacheprovider", "--mla-testbed-arch", "gfx942", "--mla-testbed-aiter", str(tree),
         *options, str(tmp_path / "suite")], capture_output=True, text=True, check=False,
        cwd=tmp_path / "suite")


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_suite_under_the_plugin_ends_with_4_and_names_the_change(tree, tmp_path, processes):
    change(tree, REDUCE)
    done = pytest_of(tree, tmp_path, "-n", processes)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"{REDUCE} differs from AITER v7" in done.stdout
    assert "or accept the ports with --mla-testbed-ported" in done.stdout
    assert pytest_of(tree, tmp_path, "-n", processes, "--mla-testbed-ported").returncode == 0


def test_a_test_of_the_suite_over_a_changed_source_is_inconclusive_unless_accepted(tree):
    (tree / "aiter" / "test_common.py").write_text(textwrap.dedent("""
        checkAllclose = lambda a, b, msg="": 0.0
        benchmark = lambda: lambda function: function
        perftest = run_perftest = None
        """))
    (tree / "op_tests").mkdir()
    (tree / "op_tests" / "script.py").write_text(USES.format(names="module_mla_reduce") + (
        "from aiter.test_common import checkAllclose\nimport torch\n"
        "checkAllclose(torch.ones(1), torch.ones(1))\n"))
    plan = runner.Plan(tree, "gfx942", "cpu", False, 120)
    test = AiterTest("script", "script.py")
    assert runner.run(test, plan, []).verdict == "pass"
    change(tree, REDUCE)
    outcome = runner.run(test, plan, [])
    assert (outcome.verdict, report.exit_code([outcome])) == ("inconclusive", 4), outcome.log
    assert outcome.reason == f"changed C++ did not run: {REDUCE}"
    assert any(f"{REDUCE} differs" in line for line in report.ported([outcome], accepted=False))
    accepted = runner.Plan(tree, "gfx942", "cpu", False, 120, ported=True)
    assert runner.run(test, accepted, []).verdict == "pass"
    assert aiter_suite.parser().parse_args(["--ported"]).ported
    assert ledger.FILE.is_file()


def test_every_module_that_is_replaced_has_its_sources_in_the_table():
    table = json.loads(sources.TABLE.read_text(encoding="utf-8"))
    assert set(table["modules"]) == {*MODULES, *LIBRARIES}
    for files in table["modules"].values():
        assert files
        for file in files:
            assert all(len(sum_) == 64 for sum_ in table["files"][file])


def test_the_table_is_that_of_the_version_it_names():
    tree = pathlib.Path(os.environ.get("AITER_SRC", "/nonexistent"))
    table = json.loads(sources.TABLE.read_text(encoding="utf-8"))
    head = subprocess.run(["git", "-C", str(tree), "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=False).stdout
    if not head.startswith(table["version"]):
        pytest.skip(f"AITER_SRC is no clone of AITER at {table['version']}")
    made = sources.table_of(tree, table["version"])
    assert made["modules"] == table["modules"]
    assert {file: sums[:1] for file, sums in table["files"].items()} == made["files"]
