"""How the package finds its library, and what it costs to import it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import _structs


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


def test_the_version_is_three_numbers() -> None:
    assert [part.isdigit() for part in mla.version().split(".")] == [True] * 3
    assert mla.__version__ == mla.version()


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
    source.write_text(f"int mla_abi_version(void) {{ return {_structs.ABI_VERSION}; }}\n" + "".join(
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
    assert set(mla.__all__) == {name for name in dir(mla) if not name.startswith("__")}
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


@pytest.mark.parametrize(("call", "why"), [
    (lambda: mla.set_threads(2**32 + 3), "threads is 4294967299; expected 0 to 2147483647"),
    (lambda: mla.set_threads(-3), "threads is -3; expected 0 to"),
    (lambda: mla.set_threads("2"), "threads is '2'; expected a whole number"),
    (lambda: mla.check_written("no"), "on is 'no'; expected a bool"),
    (lambda: mla.check_places("off"), "on is 'off'; expected a bool"),
    (lambda: mla.check_places(None), "on is None; expected a bool"),
    (lambda: mla.set_backend(None), "backend is None; expected a text"),
    (lambda: mla.set_backend("cpu\0junk"), "backend is .*, which has a NUL byte"),
    (lambda: mla.set_backend("hip", "hip:0\0"), "device is .*, which has a NUL byte"),
    (lambda: mla.set_backend("hip", 0), "device is 0; expected a text"),
])
def test_a_switch_refuses_what_it_does_not_take_and_stays_as_it_is(
        call: Callable[[], object], why: str) -> None:
    before = switches()
    try:
        with pytest.raises(mla.UsageError, match=why):
            call()
        assert switches() == before
    finally:
        mla.set_threads(before[0])
        mla.check_written(before[1])
        mla.check_places(before[2])
        mla.set_backend(before[3])


def switches() -> tuple[int, bool, bool, str]:
    """What holds now; it can be asked for only by setting it."""
    threads, written, places = mla.set_threads(1), mla.check_written(False), mla.check_places(False)
    mla.set_threads(threads)
    mla.check_written(written)
    mla.check_places(places)
    return threads, written, places, mla.backend()


def test_a_switch_takes_the_numbers_and_truth_values_of_numpy() -> None:
    threads = mla.set_threads(np.int64(2))
    assert mla.set_threads(threads) == 2
    assert mla.check_written(np.True_) is False
    assert mla.check_written(np.False_) is True


@pytest.mark.skipif(shutil.which("localedef") is None, reason="needs localedef")
def test_numbers_have_a_decimal_point_in_every_locale(tmp_path: pathlib.Path) -> None:
    if subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"],
                      capture_output=True, check=False).returncode > 1:
        pytest.skip("no sources of locales here")
    found = run("import locale, mla_testbed as mla\n"
                "locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')\n"
                "assert locale.str(0.5) == '0,5'\n"
                "verdict = mla.run('mla1:2q4s40;heads=8', properties=['P12'],\n"
                "                  plant='SEED-qo-arange')\n"
                "assert locale.str(0.5) == '0,5'\n"
                "print(verdict)", LOCPATH=str(tmp_path))
    assert re.search(r"has -?\d+\.\d", found.stdout), found
    assert not re.search(r"\d,\d", found.stdout)
