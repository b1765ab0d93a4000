"""AITER's build function, with what it needs around it, and a cache in front of it."""

from __future__ import annotations

import os
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from ... import rocm
from .. import session
from ..imports import NotServedError
from . import cache

#: What AITER's build description would take hours over, and why it is not built.
_REFUSED = (("py_itfs_ck", "it is made of Composable Kernel"),
            ("gen_instances", "it is made of hundreds of generated files"),
            ("composable_kernel", "it is made of Composable Kernel"))


class BuildError(NotServedError):
    """A module of AITER's that does not compile here; the text has the compiler's first error."""

    def __init__(self, module: str, why: str) -> None:
        super().__init__(module)
        self.msg = f"AITER's own {module} does not compile for the emulator: {why}"
        self.args = (self.msg,)

    def __str__(self) -> str:
        return self.msg


def environment(machine: Any) -> dict[str, str]:
    """What AITER's JIT and its modules read."""
    home = rocm.home()
    return {
        "ROCM_HOME": str(home), "ROCM_PATH": str(home), "HIP_PATH": str(home),
        "ENABLE_CK": "0", "CK_DIR": os.devnull,
        "MLA_TESTBED_LAZY_KERNELS": "1",
        "PYTORCH_ROCM_ARCH": machine.arch,
    }


def replace(core: Any, own: Callable[[str], bool], place: pathlib.Path) -> None:
    """The change of aiter.jit.core: own modules come from the cache or are built, all others are
    refused. place: the directory of AITER_JIT_DIR."""
    real = core.build_module
    failed: dict[cache.Recipe, BuildError] = {}

    def build_module(md_name: str, *args: Any, **kwargs: Any) -> None:
        if not own(md_name):
            raise NotServedError(md_name)
        told = repr((args, sorted(kwargs.items())))
        for word, why in _REFUSED:
            if word in told:
                raise BuildError(md_name, why)
        tree = session.aiter_tree()
        recipe = cache.Recipe(md_name, session.arch(), tree, told)
        if recipe in failed:  # torch would not compile the same files again
            raise failed[recipe]
        made = cache.find(recipe)
        if made is None:
            with cache.alone(recipe):  # another process may build the same
                try:
                    made = cache.find(recipe) or _build(real, recipe, place, args, kwargs)
                except BuildError as e:
                    failed[recipe] = e
                    raise
        link = place / f"{md_name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(made)

    core.build_module = build_module


def _build(real: Callable[..., Any], recipe: cache.Recipe, place: pathlib.Path,
           args: Any, kwargs: Any) -> pathlib.Path:
    print(f"mla-testbed: AITER's JIT builds {recipe.module} for {recipe.arch} ...",
          file=sys.stderr, flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mla-testbed-read-") as read:
        os.environ["MLA_TESTBED_DEPENDENCIES"] = read
        try:
            real(recipe.module, *args, **kwargs)
        except (RuntimeError, OSError) as e:
            cache.tell_of_tree(["csrc"])  # any file of it may be why; nothing says which were read
            raise BuildError(recipe.module, _first_error(e)) from e
        finally:
            del os.environ["MLA_TESTBED_DEPENDENCIES"]
        files = [path for path in cache.read_by(pathlib.Path(read))
                 if not path.is_relative_to(place.parent)]
    files += _generators(recipe, args, kwargs)
    made = cache.keep(recipe, place / f"{recipe.module}.so", files)
    print(f"mla-testbed: {recipe.module} was built in {time.monotonic() - began:.0f} s",
          file=sys.stderr, flush=True)
    return made


def _generators(recipe: cache.Recipe, args: Any, kwargs: Any) -> list[pathlib.Path]:
    """What generated sources are made from: scripts and manifests that the build names."""
    out: list[pathlib.Path] = []
    for path, family in re.findall(r"([^\s'\"]+\.py)\b(?: -m (\w+))?", repr((args, kwargs))):
        script = pathlib.Path(path)
        if script.is_file():
            out += [script, *script.parent.rglob(f"{family}/**/*.csv" if family else "*.csv")]
    return [path for path in out if path.is_relative_to(recipe.tree)]


def _first_error(error: BaseException) -> str:
    told: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        told += str(cause).split("\n")
        cause = cause.__cause__
    wrong = re.compile(r"\berror: (?!ld returned)|cannot find -l|undefined (reference|symbol)")
    return next((line.strip() for line in told if wrong.search(line)), told[0])
