"""Modules that AITER's JIT has built, kept by everything that the build read.

AITER itself takes a module that is there, whatever was edited since. Here a module is found again
only if all files that its compilation read are what they were.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator

from ... import rocm

_MOST_BYTES = 2 << 30
#: Told what the modules of this process were made from, by names below the tree.
LISTENERS: list[Callable[[str], None]] = []


def directory() -> pathlib.Path:
    """What MLA_TESTBED_CACHE names, else mla-testbed in the user's cache."""
    named = os.environ.get("MLA_TESTBED_CACHE")
    if named:
        return pathlib.Path(named)
    of_user = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(of_user) / "mla-testbed"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What decides about a module before its sources are read. tree: AITER's root; paths below it
    count by their place in it, so that two checkouts share what they have in common."""

    module: str
    arch: str
    tree: pathlib.Path
    arguments: str

    def place(self) -> pathlib.Path:
        """The directory of the builds of this recipe."""
        told = "\0".join((self.module, self.arch, self.arguments.replace(str(self.tree), "TREE"),
                          compiler(), stand_in()))
        name = hashlib.sha256(told.encode()).hexdigest()[:24]
        return directory() / "modules" / f"{self.module}-{self.arch}-{name}"


@functools.cache
def compiler() -> str:
    """hipcc's answer to --version."""
    made = subprocess.run([rocm.home() / "bin" / "hipcc", "--version"], capture_output=True,
                          text=True, check=False)
    return made.stdout


@functools.cache
def stand_in() -> str:
    """A sum of the programs of the stand-in; its headers are among what a compilation reads."""
    files = sorted((rocm.home() / "share" / "hipcc").glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def find(recipe: Recipe) -> pathlib.Path | None:
    """A module that was built from the same files."""
    for told in sorted(recipe.place().glob("*/read.json")):
        try:
            read = json.loads(told.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        made = told.parent / f"{recipe.module}.so"
        # The tree's own files first: they are few, and it is they that change.
        names = sorted(read, key=lambda name: not name.startswith("TREE/"))
        if made.is_file() and all(_sum(_path(recipe, name)) == read[name] for name in names):
            os.utime(told)
            _tell(read)
            return made
    return None


@contextlib.contextmanager
def alone(recipe: Recipe) -> Iterator[None]:
    """One process at a time builds a recipe; the others wait, and find what it kept."""
    recipe.place().mkdir(parents=True, exist_ok=True)
    with open(recipe.place() / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield


def keep(recipe: Recipe, module: pathlib.Path, read: Iterable[pathlib.Path]) -> pathlib.Path:
    """Takes a built module in; read: the files that its build read."""
    sums = {_name(recipe, path): _sum(path) for path in sorted(set(read))}
    _tell(sums)
    text = json.dumps(sums, indent=0)
    place = recipe.place() / hashlib.sha256(text.encode()).hexdigest()[:24]
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        shutil.copy(module, made)
        (pathlib.Path(made) / "read.json").write_text(text, encoding="utf-8")
        if not place.exists():
            os.rename(shutil.copytree(made, f"{made}.whole"), place)
    _prune(place)
    return place / module.name


def tell_of_tree(names: Iterable[str]) -> None:
    """These files and folders below the tree count for what is answered now."""
    for name in names:
        for listener in LISTENERS:
            listener(name)


def _tell(read: Iterable[str]) -> None:
    tell_of_tree(name[5:] for name in read if name.startswith("TREE/"))


def read_by(dependencies: pathlib.Path) -> list[pathlib.Path]:
    """The files that compilations read, from their dependency files."""
    out = set()
    for file in dependencies.glob("*.d"):
        text = file.read_text(encoding="utf-8").replace("\\\n", " ").split(":", 1)[1]
        out |= {name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", text)}
    return [pathlib.Path(os.path.abspath(name)) for name in sorted(out)]


def _name(recipe: Recipe, path: pathlib.Path) -> str:
    return f"TREE/{path.relative_to(recipe.tree)}" if path.is_relative_to(recipe.tree) \
        else str(path)


def _path(recipe: Recipe, name: str) -> pathlib.Path:
    return recipe.tree / name[5:] if name.startswith("TREE/") else pathlib.Path(name)


def _sum(path: pathlib.Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _prune(kept: pathlib.Path) -> None:
    """Removes what was not used for longest until the rest is small enough, and never `kept`."""
    told = sorted((directory() / "modules").glob("*/*/read.json"), key=lambda file: -_time(file))
    total = 0
    for file in told:
        total += sum(part.stat().st_size for part in file.parent.iterdir())
        if total > _MOST_BYTES and file.parent != kept:
            shutil.rmtree(file.parent, ignore_errors=True)


def _time(file: pathlib.Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0
