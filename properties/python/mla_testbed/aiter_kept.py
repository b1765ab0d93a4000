"""Answers about commits of AITER, found again where every file that was read is the same."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from . import __version__, _library
from .aiter.own import cache
from .aiter.tree.read import VARIABLE
from .aiter_history import Commit, git

_OBJECTS = "hsa/{arch}/mla"


@functools.cache
def judge() -> str:
    """A sum over what answers: this package, its library and its command."""
    package = pathlib.Path(__file__).resolve().parent
    command = shutil.which(os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed"))
    files = [*sorted(package.rglob("*.py")), *sorted(package.rglob("*.json")),
             _library.library_path()]
    digest = hashlib.sha256(f"{__version__}\0{cache.stand_in()}\0".encode())
    for file in [*files, *([pathlib.Path(command)] if command else [])]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@contextmanager
def reading() -> Iterator[Callable[[], set[str]]]:
    """The processes of trees that begin inside tell what they read of their tree; the function
    says what it was."""
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory(prefix="mla-testbed-read-") as folder:
        os.environ[VARIABLE] = folder
        try:
            yield lambda: {name for file in pathlib.Path(folder).iterdir()
                           for name in os.fsdecode(file.read_bytes()).split("\n") if name}
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before


class Kept:
    """The answers of one clone."""

    def __init__(self, clone: pathlib.Path) -> None:
        self.clone = clone
        self._of: dict[str, dict[str, str]] = {}

    def ask(self, commit: Commit, arch: str, told: Sequence[str], make: Callable[[], str],
            used: Collection[str] = (), keep: Callable[[str], bool] = lambda _: True) \
            -> tuple[str, set[str]]:
        """What was said of a commit whose files of that kind are the same, else what `make` says;
        and the files that were read for it.

        used: files and folders that count beside those that `make` is seen to read. keep: whether
        what was said is kept.
        """
        text = "\0".join((arch, judge(), *told))
        place = cache.directory() / "history" / hashlib.sha256(text.encode()).hexdigest()[:24]
        there = self._objects(commit)
        for file in sorted(place.glob("*.json")):
            kept = json.loads(file.read_text(encoding="utf-8"))
            if all(there.get(name, "") == of for name, of in kept["read"].items()):
                return str(kept["said"]), set(kept["read"])
        with reading() as told_of:
            said = make()
            names = told_of()
        if names:  # AITER's C++ opens code objects: any of them may have run
            names.add(_OBJECTS.format(arch=arch))
        # What AITER generated in its tree is in no commit.
        sums = {name: there[name] for name in sorted(names) if name in there}
        sums |= {name: there.get(name, "") for name in used}
        if sums and keep(said):  # without sums it would be the answer about every commit
            _write(place, json.dumps({"read": sums, "said": said}))
        return said, set(sums)

    def _objects(self, commit: Commit) -> dict[str, str]:
        """git's name of each file and folder."""
        if commit.id not in self._of:
            lines = git(self.clone, "ls-tree", "-r", "-t", "-z", commit.id).split("\0")
            self._of[commit.id] = {name: about.split()[2] for about, _, name in (
                line.partition("\t") for line in lines if line)}
        return self._of[commit.id]


def _write(place: pathlib.Path, text: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    beside = file.with_suffix(f".{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)
