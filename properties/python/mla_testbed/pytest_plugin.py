"""pytest plugin: --mla-testbed-arch gfx942 runs a test suite as on a machine with one GPU.

Options: --mla-testbed-arch, --mla-testbed-cu, --mla-testbed-backend, --mla-testbed-late-copies,
--mla-testbed-aiter, --mla-testbed-modules, --mla-testbed-ported. Without the first one the plugin
does nothing.

A suite that passes ends with 4 where AITER's C++ differs from the version whose ports ran in its
place, unless --mla-testbed-ported accepts that.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

_STAGE = "mla_testbed_stage"
_PORTED = "mla_testbed_ported"
_OPTION = "--mla-testbed-ported"
_UNDECIDED = 4


def pytest_addoption(parser: Any) -> None:
    """The options; the same as those of mla-testbed-python."""
    group = parser.getgroup("mla-testbed")
    group.addoption("--mla-testbed-arch", default=None,
                    help="run as on a machine with one gfx942 or gfx950")
    group.addoption("--mla-testbed-cu", type=int, default=None, help="its compute units")
    group.addoption("--mla-testbed-backend", default="cpu",
                    help="what executes AITER's operations: cpu or aiter")
    group.addoption("--mla-testbed-late-copies", action="store_true",
                    help="copies that do not block happen as late as a stream allows")
    group.addoption("--mla-testbed-aiter", default=os.environ.get("AITER_SRC"),
                    help="a source tree of AITER (AITER_SRC)")
    group.addoption("--mla-testbed-modules", default="auto", choices=("auto", "own", "ported"),
                    help="AITER's compiled modules: its own, our ports, or its own where its C++ "
                         "is not the one that the ports follow")
    group.addoption(_OPTION, action="store_true",
                    help="accept that mla-testbed's ports run in place of C++ that was changed")


@pytest.hookimpl(tryfirst=True)  # type: ignore[misc, unused-ignore]
def pytest_configure(config: Any) -> None:
    """Enters the world before anything is collected."""
    arch = config.getoption("--mla-testbed-arch")
    if arch is None:
        return
    from . import world  # noqa: PLC0415 needs torch, and says so
    from .aiter import Findings, Stage  # noqa: PLC0415
    from .errors import LibraryError  # noqa: PLC0415

    try:
        machine = world.machine(
            arch, config.getoption("--mla-testbed-cu"),
            late_copies=config.getoption("--mla-testbed-late-copies"),
            backend=config.getoption("--mla-testbed-backend"))
    except ValueError as e:
        raise pytest.UsageError(str(e)) from e
    try:
        stage = Stage(machine, Findings(), tree=config.getoption("--mla-testbed-aiter"),
                      modules=config.getoption("--mla-testbed-modules"))
    except (FileNotFoundError, LibraryError) as e:
        raise pytest.UsageError(str(e)) from e
    setattr(config, _STAGE, stage)


def pytest_report_header(config: Any) -> str | None:
    """One line about the machine."""
    stage = getattr(config, _STAGE, None)
    if stage is None:
        return None
    machine = stage.world.machine
    return (f"mla-testbed: {machine.name} ({machine.arch}), {machine.compute_units} compute "
            f"units, backend {machine.backend}")


@pytest.hookimpl(optionalhook=True)  # type: ignore[misc, unused-ignore]
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 the hook's names
    """Keeps what a worker of pytest-xdist used."""
    found = getattr(node, "workeroutput", {}).get(_PORTED)
    if found is not None:
        from .ported import Ported  # noqa: PLC0415

        known = getattr(node.config, _PORTED, None)
        made = Ported.of_json(found)
        setattr(node.config, _PORTED, made if known is None else known.together(made))


@pytest.hookimpl(trylast=True)  # type: ignore[misc, unused-ignore]
def pytest_sessionfinish(session: Any) -> None:
    """A run over ports says nothing about C++ that differs from theirs."""
    config = session.config
    stage = getattr(config, _STAGE, None)
    if stage is None:
        return
    ported = stage.ported()
    if hasattr(config, "workeroutput"):  # of a worker: its controller decides
        config.workeroutput[_PORTED] = ported.as_json()
        return
    workers = getattr(config, _PORTED, None)
    ported = ported if workers is None else workers.together(ported)
    setattr(config, _PORTED, ported)
    if ported.changed and not config.getoption(_OPTION) and session.exitstatus == 0:
        session.exitstatus = _UNDECIDED


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """What ran in place of AITER's C++."""
    ported = getattr(config, _PORTED, None)
    if ported is None or not ported.modules:
        return
    terminalreporter.section("mla-testbed")
    for line in ported.lines():
        terminalreporter.line(line)
    if ported.changed and not config.getoption(_OPTION):
        terminalreporter.line(ported.advice(_OPTION))


def pytest_unconfigure(config: Any) -> None:
    """Leaves the world."""
    stage = getattr(config, _STAGE, None)
    if stage is not None:
        stage.leave()
        delattr(config, _STAGE)
