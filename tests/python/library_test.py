"""How the package finds its library, and what it costs to import it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import mla_testbed as mla
import pytest


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


def test_the_version_is_three_numbers() -> None:
    assert [part.isdigit() for part in mla.version().split(".")] == [True] * 3


def test_a_missing_library_says_how_to_install_it() -> None:
    found = run("import mla_testbed; mla_testbed.version()", MLA_TESTBED_LIBRARY="/nowhere.so")
    assert found.returncode == 1
    assert "LibraryError: '/nowhere.so' is not there: install the package with `pip install .`" \
        in found.stderr


def test_a_file_that_is_no_library_of_ours_is_refused(tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other.so"
    other.write_text("no library")
    found = run("import mla_testbed; mla_testbed.version()", MLA_TESTBED_LIBRARY=str(other))
    assert f"LibraryError: '{other}' cannot be used" in found.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, cc")
def test_a_function_that_an_older_library_lacks_is_named_by_its_call(
        tmp_path: pathlib.Path) -> None:
    source, older = tmp_path / "older.c", tmp_path / "older.so"
    texts = ("version", "last_error", "last_bug", "last_report", "backend")
    source.write_text("int mla_abi_version(void) { return 1; }\n" + "".join(
        f'const char* mla_{name}(void) {{ return "0"; }}\n' for name in texts))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", older, source], check=True)
    found = run("import mla_testbed; print(mla_testbed.version()); mla_testbed.check_written(True)",
                MLA_TESTBED_LIBRARY=str(older))
    assert found.stdout == "0\n"
    assert (f"LibraryError: '{older}' is older than this package, it has no mla_check_written"
            in found.stderr)


def test_the_import_loads_neither_the_library_nor_numpy_nor_torch() -> None:
    code = ("import sys, mla_testbed; print('numpy' in sys.modules, 'torch' in sys.modules); "
            "from mla_testbed import _library; print(_library._loaded)")
    assert run(code, MLA_TESTBED_LIBRARY="/nowhere.so").stdout == "False False\nNone\n"


def test_every_public_name_is_there() -> None:
    assert [name for name in mla.__all__ if not hasattr(mla, name)] == []
    assert set(mla.__all__) <= set(dir(mla))
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        mla.plans  # noqa: B018


def test_the_import_takes_less_than_a_fifth_of_a_second() -> None:
    code = ("import time; t = time.process_time(); import mla_testbed; "
            "print(time.process_time() - t)")
    assert min(float(run(code).stdout) for _ in range(3)) < 0.2


@pytest.mark.parametrize("struct, size", [("Tensor", 160), ("BufferSizes", 48),
                                          ("PlanBuffers", 48)])
def test_a_struct_has_the_size_of_the_header(struct: str, size: int) -> None:
    import ctypes  # noqa: PLC0415

    from mla_testbed import _structs  # noqa: PLC0415
    assert ctypes.sizeof(getattr(_structs, struct)) == size
