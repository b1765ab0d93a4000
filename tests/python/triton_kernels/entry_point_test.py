"""The package as an entry point of Triton: scripts that know nothing of it."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = '''
import torch, triton, triton.language as tl

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

x = torch.arange(100)
double[(2,)](x, LENGTH, BLOCK=64)
assert torch.equal(x, torch.arange(100) * 2)
print(triton.runtime.driver.active.get_current_target().arch)
'''


#: What another backend looks like to Triton: its driver is always active.
OTHER = '''
from triton.backends.driver import DriverBase
from triton.backends.compiler import BaseBackend

class Driver(DriverBase):
    def is_active():
        return True

    def __init__(self):
        raise SystemExit("the other driver was chosen")

    def nothing(self, *args):
        raise NotImplementedError

    get_active_torch_device = get_benchmarker = get_current_target = nothing
    map_python_to_cpp_type = nothing
'''
OTHER_COMPILER = '''
from triton.backends.compiler import BaseBackend

class Compiler(BaseBackend):
    def supports_target(target):
        return False

    def nothing(self, *args):
        raise NotImplementedError

    hash = parse_options = add_stages = load_dialects = get_module_map = nothing
'''


def _add_other(folder):
    """Another active backend, such as AMD's own where torch sees a GPU."""
    (folder / "other").mkdir()
    (folder / "other" / "__init__.py").write_text("")
    (folder / "other" / "driver.py").write_text(OTHER)
    (folder / "other" / "compiler.py").write_text(OTHER_COMPILER)
    metadata = folder / "other-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[triton.backends]\nother = other\n")


def _run(folder, length, **variables):
    """The script in a process whose packages have the entry points of pyproject.toml."""
    table = re.search(r'\[project\.entry-points\."triton\.backends"\]\n((?:\w+ = ".*"\n)+)',
                      (ROOT / "pyproject.toml").read_text())
    assert table is not None
    metadata = folder / "mla_testbed-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mla-testbed\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(
        "[triton.backends]\n" + table[1].replace('"', ""))
    (folder / "script.py").write_text(SCRIPT.replace("LENGTH", str(length)))
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    return subprocess.run([sys.executable, str(folder / "script.py")], env=environment,
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_script_runs_unchanged_where_the_variable_names_an_architecture(tmp_path, arch):
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH=arch)
    assert (done.stdout.strip(), done.returncode) == (arch, 0), done.stderr


def test_a_fault_of_a_script_is_an_exception_with_its_line(tmp_path):
    done = _run(tmp_path, 101, MLA_TESTBED_ARCH="gfx942")
    assert done.returncode != 0
    assert "KernelFault: out-of-bounds in kernel 'double' (script.py:7)" in done.stderr
    assert "lane 36" in done.stderr


def test_an_architecture_that_is_not_emulated_is_refused_by_its_name(tmp_path):
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH="gfx1100")
    assert done.returncode != 0
    assert "arch is 'gfx1100'; expected gfx942 or gfx950" in done.stderr


def test_where_another_driver_is_active_the_variable_decides_for_ours(tmp_path):
    _add_other(tmp_path)
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH="gfx950")
    assert (done.stdout.strip(), done.returncode) == ("gfx950", 0), done.stderr


def test_without_the_variable_the_other_driver_is_taken(tmp_path):
    _add_other(tmp_path)
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH="")
    assert "the other driver was chosen" in done.stderr


def test_a_driver_that_the_caller_chose_is_taken(tmp_path):
    _add_other(tmp_path)
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH="gfx950", TRITON_DEFAULT_BACKEND="other")
    assert "the other driver was chosen" in done.stderr


def test_a_wave_ends_at_the_instruction_limit_of_the_environment(tmp_path):
    done = _run(tmp_path, 100, MLA_TESTBED_ARCH="gfx942", MLA_TESTBED_INSTRUCTION_LIMIT="5")
    assert done.returncode != 0
    assert "KernelFault: instruction-limit in kernel 'double'" in done.stderr
