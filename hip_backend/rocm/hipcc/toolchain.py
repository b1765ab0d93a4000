"""The programs that hipcc calls."""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import subprocess
import sys

from .command_line import UsageError

_NAMES = ("clang++-24", "clang++-23", "clang++-22", "clang++-21", "clang++-20", "amdclang++")


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """clang: the compiler's path. home: the directory of this stand-in for ROCm."""

    clang: str
    home: str

    @property
    def include(self) -> str:
        """Where hip/hip_runtime.h is."""
        return os.path.join(self.home, "include")

    @property
    def torch(self) -> str:
        """Headers that a torch for HIP has and one for the CPU has not. They come first: of some,
        a CPU's torch has a version that needs the rest of it."""
        return os.path.join(self.home, "share", "torch")

    @property
    def library(self) -> str:
        """Where libamdhip64.so is."""
        return os.path.join(self.home, "lib")

    @property
    def hipcc(self) -> str:
        """This program."""
        return os.path.join(self.home, "bin", "hipcc")

    def tool(self, name: str) -> str:
        """A program of LLVM beside clang. UsageError: it is not there."""
        path = os.path.join(os.path.dirname(os.path.realpath(self.clang)), name)
        if not os.access(path, os.X_OK):
            raise UsageError(
                f"'{path}' is not there: kernels that are compiled when they are launched need the "
                "package llvm-NN beside clang-NN")
        return path

    @functools.cached_property
    def version(self) -> str:
        """The compiler's own line about itself."""
        said = subprocess.run([self.clang, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split("\n", 1)[0]


def find(home: str) -> Toolchain:
    """The compiler that MLA_TESTBED_CLANG names, or the newest that PATH has. UsageError: none."""
    chosen = os.environ.get("MLA_TESTBED_CLANG")
    for name in (chosen,) if chosen else _NAMES:
        path = shutil.which(name)
        if path is not None:
            return Toolchain(path, home)
    if chosen:
        raise UsageError(f"MLA_TESTBED_CLANG is '{chosen}', which is no program")
    raise UsageError("there is no clang++ from 20 on (Debian: clang-22 lld-22); MLA_TESTBED_CLANG "
                     "names one")


def call(words: list[str]) -> None:
    """Runs a program; SystemExit with its exit code if that is not 0."""
    if os.environ.get("HIPCC_VERBOSE", "0") not in ("", "0"):
        print(" ".join(words), file=sys.stderr)
    code = subprocess.run(words, check=False).returncode
    if code != 0:
        raise SystemExit(code if code > 0 else 1)
