"""Trees of engines: where a repository has the package, and a commit of it, or its working tree,
taken out for Python to import over the packages that are installed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from ...errors import LibraryError, UsageError
from ..client import EngineMissing, Setting, Tree, interpreter


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of a repository.

    Attributes:
        module: the package that is imported. under: the folder that has it, or "".
        of_mla: what decides about MLA with AITER, as git takes paths.
        generated: files of the package that are in no commit.
    """

    module: str
    under: str = ""
    of_mla: tuple[str, ...] = (".",)
    generated: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The package, a folder or one file."""
        folder = str(pathlib.PurePosixPath(self.under, self.module))
        return folder, f"{folder}.py"


_GENERATED = ("_version.py",)
_LAYOUTS = {
    "vllm": Layout("vllm", of_mla=(
        ":(glob)vllm/v1/attention/**/*aiter*",
        ":(glob)vllm/model_executor/layers/**/*mla*attention*",
        ":(glob)vllm/v1/attention/backends/mla/indexer*", "vllm/_aiter_ops.py"),
        generated=_GENERATED),
    "sglang": Layout("sglang", "python", of_mla=(
        ":(glob)python/sglang/srt/layers/attention/*aiter*",
        ":(glob)python/sglang/srt/layers/attention/*dsa*",
        "python/sglang/srt/layers/attention/dsa"), generated=_GENERATED),
    "atom": Layout("atom", of_mla=(
        ":(glob)atom/model_ops/**/*mla*", "atom/model_ops/attentions/backends.py",
        "atom/spec_decode/eagle.py")),
}


def layout_of(engine: str) -> Layout:
    """Of an engine; "module:class" lies at the root of its repository."""
    return _LAYOUTS.get(engine) or Layout(engine.partition(":")[0].partition(".")[0])


@dataclasses.dataclass(frozen=True)
class Installed:
    """What an interpreter has.

    Attributes:
        place: folder of the engine's installed package, or "".
        packages: name and version of each package.
    """

    place: str
    packages: tuple[tuple[str, str], ...]


_ASKED = """import importlib.metadata as m, importlib.util as u, json, sys
spec = u.find_spec(sys.argv[1])
print(json.dumps([spec.origin if spec else "", sorted(
    (one.metadata["Name"] or "", one.version or "") for one in m.distributions())]))"""


@functools.cache
def installed(setting: Setting) -> Installed:
    """Asks the interpreter of an engine.

    Raises:
        EngineMissing: it does not answer.
    """
    command = [interpreter(setting), "-c", _ASKED, layout_of(setting.engine).module]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONSAFEPATH": "1"})
    try:
        origin, packages = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, LookupError) as e:
        last = (done.stderr.strip().splitlines() or ["nothing was printed"])[-1]
        raise EngineMissing(f"'{command[0]}' cannot be asked what is installed: {last}") from e
    place = str(pathlib.Path(origin).parent) if origin else ""
    return Installed(place, tuple((name, version) for name, version in packages))


def take_in(tree: pathlib.Path, layout: Layout, here: Installed) -> str:
    """Adds to a tree that was taken out what no commit has. The folder that Python looks in."""
    below = tree.resolve() / layout.under
    for name in layout.generated:
        there, wanted = pathlib.Path(here.place, name), below / layout.module / name
        if here.place and there.is_file() and not wanted.exists():
            shutil.copy(there, wanted)
    return str(below)


@contextlib.contextmanager
def told_by_git() -> Iterator[None]:
    """What git cannot answer is what the environment lacks."""
    from ...aiter_history import HistoryError

    try:
        yield
    except HistoryError as e:
        raise LibraryError(str(e)) from e


@contextlib.contextmanager
def given(setting: Setting, src: str | None, rev: str | None) -> Iterator[Setting]:
    """The setting with the engine of a source tree (--src), of a commit of it (--rev) if one is
    named; as it is without.

    Raises:
        UsageError: there is no package in it.
    """
    if src is None:
        if rev is not None:
            raise UsageError(f"--rev '{rev}' is a commit of the repository that --src names")
        yield setting
        return
    layout, place = layout_of(setting.engine), pathlib.Path(src).resolve()
    with tempfile.TemporaryDirectory(prefix="mla-testbed-engine-") as folder:
        tree = pathlib.Path(folder)
        if rev is not None:
            from ...aiter_history import commit_of, take_out

            with told_by_git():
                take_out(place, commit_of(place, rev), tree, layout.paths)
        else:
            _copy(place, layout, tree)
        directory = take_in(tree, layout, installed(setting))
        yield dataclasses.replace(setting, tree=Tree(directory, str(place), rev or ""))


def _copy(place: pathlib.Path, layout: Layout, tree: pathlib.Path) -> None:
    found = [path for path in layout.paths if (place / path).exists()]
    if not found:
        raise UsageError(f"--src '{place}' is no source tree of the engine: it has no "
                         f"{layout.paths[0]}")
    for path in found:
        wanted = tree / path
        wanted.parent.mkdir(parents=True, exist_ok=True)
        if (place / path).is_dir():
            shutil.copytree(place / path, wanted, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(place / path, wanted)
