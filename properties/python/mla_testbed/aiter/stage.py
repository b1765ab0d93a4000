"""Everything that AITER needs around it to be imported and to run on a CPU."""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from .. import _library, _tensors, rocm, world
from ..errors import LibraryError
from ..ported import Ported
from . import (
    imports,
    jit_directory,
    session,
    sources,
    strict,
    target_driver,
    used,
)
from .findings import Findings
from .own import build, choice
from .own.compare import Differences
from .own.runtime import Runtime, runtime

_KEPT = "MLA_TESTBED_BACKEND"


class Stage:
    """A world, the environment variables and the files that AITER reads; `leave()` ends it.

    machine: what the world imitates. findings: where AITER's comparisons are kept; None leaves
    aiter.test_common as it is. once: see strict.install. tree: the source tree of AITER, put on
    sys.path; its directory hsa tells which kernels AITER ships, unless AITER_HSA names another.
    modules: see own.choice.choose. compare: own planners and reduce beside the ports.
    """

    def __init__(
        self, machine: world.Machine, findings: Findings | None = None, *, once: bool = True,
        tree: str | os.PathLike[str] | None = None, modules: str = "ported",
        compare: bool = False,
    ) -> None:
        if "aiter" in sys.modules:
            raise RuntimeError("aiter is imported already: enter the stage before it")
        self._tree = None if tree is None else pathlib.Path(tree).resolve()
        self._compared: tuple[object, Ported] | None = None
        of_tree = {} if tree is None else _of_tree(pathlib.Path(tree).resolve())
        self.choice = choice.choose(modules, self._tree)
        self.world = world.World(machine)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mla-testbed-aiter-"))
        # The files go when the process ends: AITER reads them after this object is gone.
        atexit.register(_remove, self.directory, os.getpid())
        self._environment: dict[str, str | None] = {}
        jit_directory.write(self.directory / "jit", self.choice.ported)
        self._runtime: Runtime | None = None
        used.watch_libraries()
        if self.choice.own_rest:
            self._runtime = runtime()
            self._runtime.differences = Differences() if compare else None
        for name, value in {**self._variables(machine), **of_tree}.items():
            self._environment[name] = os.environ.get(name)
            os.environ[name] = value
        # Set while Triton is imported, because of MLA_TESTBED_ARCH.
        chosen = "TRITON_DEFAULT_BACKEND"
        self._environment[chosen] = os.environ.get(chosen)
        _tensors.set_place(lambda tensor: 0 if world.on_device(tensor) else -1)
        self._places = _library.check_places(True)
        self._written = _answer_for_outputs(True)
        self._hook = imports.Hook(self._changes(findings, once), self.choice.own)
        self._hook.install()
        # AITER asks the active Triton driver for its target while it is imported.
        self._put_triton_back = target_driver.activate(machine)

    def _variables(self, machine: world.Machine) -> dict[str, str]:
        own = build.environment(machine) if self.choice.own_rest else {}
        return {
            **own,
            "AITER_JIT_DIR": str(self.directory / "jit"),
            "GPU_ARCHS": machine.arch,
            "CU_NUM": str(machine.compute_units),
            "MLA_TESTBED_ARCH": machine.arch,
            _KEPT: machine.backend,
            # Programs that AITER asks about the machine: rocminfo and hipconfig.
            "MLA_TESTBED_UNITS": str(machine.compute_units),
            "PATH": f"{rocm.home() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def _changes(self, findings: Findings | None, once: bool) -> dict[str, imports.Change]:
        changes: dict[str, imports.Change] = {
            "aiter.jit.core": self._change_jit, "aiter.ops.flydsl": imports.refuse_flydsl}
        if findings is not None:
            changes["aiter.test_common"] = \
                lambda module: strict.install(module, findings, once=once)
        return changes

    def _change_jit(self, core: Any) -> None:
        """Own modules are built, others that are not there are refused."""
        build.replace(core, self.choice.own, self.directory / "jit")
        if self._runtime is not None:
            self._runtime.around_operations(core, self.choice.own)

    def ported(self) -> Ported:
        """The modules of AITER that ours took the place of so far, and whether the C++ of the AITER
        that was imported is the one that ours follow. To be asked before `leave`."""
        try:
            tree: pathlib.Path | None = session.aiter_tree()
        except ImportError:
            tree = self._tree
        asked = tree, used.marked(self.directory)
        if self._compared is None or self._compared[0] != asked:
            self._compared = asked, sources.compare(*asked)
        return self._compared[1]

    def lines(self) -> list[str]:
        """What a report says about whose C++ ran; to be asked before `leave`."""
        return [*self.own(), *self.ported().lines()]

    def own(self) -> list[str]:
        """Which of AITER's own modules ran; nothing where none did."""
        return [] if self._runtime is None else self._runtime.lines()

    def differences(self) -> Differences | None:
        """Of own modules beside the ports, where they were compared."""
        return None if self._runtime is None else self._runtime.differences

    def leave(self) -> None:
        """Puts everything back but modules that were imported meanwhile."""
        self._hook.remove()
        self._put_triton_back()
        _library.check_places(self._places)
        _answer_for_outputs(self._written)
        _tensors.set_place(None)
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.world.leave()
        _remove(self.directory, os.getpid())


def _remove(directory: pathlib.Path, process: int) -> None:
    """Removes a directory of this process; a fork of it ends earlier."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def entered(
    machine: world.Machine, findings: Findings | None = None,
    tree: str | os.PathLike[str] | None = None,
) -> Iterator[Stage]:
    """A stage for a block."""
    stage = Stage(machine, findings, tree=tree)
    try:
        yield stage
    finally:
        stage.leave()


def _answer_for_outputs(on: bool) -> bool:
    try:
        return _library.check_written(on)
    except LibraryError:  # an older one, which cannot
        return False


def _of_tree(tree: pathlib.Path) -> dict[str, str]:
    """Puts a source tree on sys.path; the variables that it stands for."""
    if not (tree / "aiter" / "__init__.py").is_file():
        raise FileNotFoundError(
            f"'{tree}' is no source tree of AITER: it has no aiter/__init__.py (a clone of "
            "https://github.com/ROCm/aiter is one)")
    sys.path.insert(0, str(tree))
    hsa = tree / "hsa"
    if "AITER_HSA" in os.environ or not hsa.is_dir():
        return {}
    return {"AITER_HSA": str(hsa)}
