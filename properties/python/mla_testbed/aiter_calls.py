"""This project's command line, called by its Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

from .errors import UsageError

#: Where trees are taken out, or were when a module was built: C++ names its files by that. It is
#: another folder each time, and no reader has it.
_PLACE = re.compile(r"[^\s'\"(]*/mla-testbed-(?:compare|history|report)-\w+"
                    r"(?:/([0-9a-f]{40}))?(/?)")

_running: set[subprocess.Popen[str]] = set()


def command() -> str:
    """The command line of this project (MLA_TESTBED_COMMAND)."""
    return os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed")


def call(words: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """What the command says. The tree's process is this Python.

    Raises:
        UsageError: there is no such command, or a word that no command can get.
        subprocess.TimeoutExpired: after `timeout` seconds; the command has ended.
    """
    for word in words:
        if "\0" in word:
            raise UsageError(f"a NUL is in {word!r}")
    try:
        process = subprocess.Popen([command(), *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={"MLA_TESTBED_PYTHON": sys.executable, **os.environ})
    except FileNotFoundError as e:
        raise UsageError(f"there is no command '{command()}': MLA_TESTBED_COMMAND names it") from e
    _running.add(process)
    with process:
        try:
            out, error = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return subprocess.CompletedProcess(words, process.returncode, out, error)


def last_line(text: str) -> str:
    """The last line of the command's own on standard error."""
    lines = [line for line in text.splitlines() if line.startswith("mla-testbed ")]
    return below_tree(lines[-1]) if lines else ""


def below_tree(text: str) -> str:
    """The text with paths below AITER's root, and the root as its commit."""
    return _PLACE.sub(lambda found: "" if found[2] else (found[1] or "the tree"), text)


def end_all() -> None:
    """Ends the calls of other threads; a tree's process ends when its caller has."""
    for process in tuple(_running):
        process.kill()
