"""What hipcc is asked for.

It takes clang's options, and of hipcc's own those that name code objects. What has no meaning on
the emulated device is refused by name.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterable

ARCHS = ("gfx942", "gfx950")

#: Options of clang whose value is a word of its own.
_WITH_VALUE = frozenset((
    "-o", "-x", "-I", "-D", "-U", "-L", "-l", "-B", "-T", "-u", "-z", "-include", "-imacros",
    "-isystem", "-iquote", "-idirafter", "-isysroot", "-iprefix", "-iwithprefix", "-MF", "-MT",
    "-MQ", "-Xclang", "-Xlinker", "-Xpreprocessor", "-Xassembler", "-Xoffload-linker", "-mllvm",
    "-target", "-arch", "--param", "-Xarch_host", "-Xarch_device", "-dumpbase", "-dumpdir",
    "--sysroot", "-rpath", "-framework"))
#: Of hipcc and of where ROCm is: nothing here depends on them.
_IGNORED = ("--rocm-path", "--hip-path", "--hip-version", "--hip-device-lib-path", "-parallel-jobs",
            "--rocm-device-lib-path", "-fhip-new-launch-api", "-fno-gpu-rdc")
#: What is refused, and why.
_REFUSED = {
    "-fgpu-rdc": "device code is linked in one unit here: leave it out",
    "--hipstdpar": "parallel algorithms need ROCm's libraries",
    "--offload-new-driver": "it needs clang's linker wrapper, which is not used here",
}
_HIP = (".hip",)
_HIP_OF_HIPCC = (".cu", ".cpp", ".cc", ".cxx", ".c++", ".C", ".CPP")
_SOURCES = (*_HIP, *_HIP_OF_HIPCC, ".c", ".s", ".S", ".ll", ".i", ".ii", "-")
_STEPS = {"-c": "object", "-E": "preprocess", "-M": "preprocess", "-MM": "preprocess",
          "-S": "assembly", "-fsyntax-only": "syntax", "--genco": "genco"}
_SIDES = {"--cuda-device-only": "device", "--offload-device-only": "device",
          "--cuda-host-only": "host", "--offload-host-only": "host"}


class UsageError(Exception):
    """A sentence that names the word that cannot be done."""


@dataclasses.dataclass(frozen=True)
class Input:
    """A file of the command line. hip: it is compiled for the device as well. source: it is
    compiled at all, and not only linked. language: what -x said."""

    path: str
    hip: bool
    source: bool
    language: str | None


@dataclasses.dataclass
class CommandLine:
    """step: link, object, assembly, preprocess, syntax or genco. side: both, device or host.

    words: options and inputs in their order, as the linker needs them. archs: without twins.
    """

    step: str = "link"
    side: str = "both"
    output: str | None = None
    archs: list[str] = dataclasses.field(default_factory=list)
    words: list[str | Input] = dataclasses.field(default_factory=list)

    @property
    def inputs(self) -> list[Input]:
        """The files, in their order."""
        return [word for word in self.words if isinstance(word, Input)]

    @property
    def options(self) -> list[str]:
        """The options for clang, in their order."""
        return [word for word in self.words if isinstance(word, str)]


def read(arguments: Iterable[str], *, hipcc: bool) -> CommandLine:
    """Reads the words after the program's name. hipcc: C++ sources are HIP, as hipcc has it; else
    only *.hip and what -x hip names, as clang++ has it. UsageError names a word that is refused."""
    line = CommandLine()
    words = iter(_expanded(arguments))
    language: str | None = None
    for word in words:
        if word in _WITH_VALUE:
            value = next(words, None)
            if value is None:
                raise UsageError(f"{word} needs a value")
            if word == "-x":
                language = None if value == "none" else value
            elif word == "-o":
                line.output = value
            else:
                line.words += [word, value]
        elif word.startswith("-x"):
            language = None if word == "-xnone" else word[2:]
        elif word == "-" or not word.startswith("-"):
            line.words.append(_input(word, language, hipcc))
        elif not word.startswith(_IGNORED):
            _take_option(line, word)
    return line


def _take_option(line: CommandLine, word: str) -> None:
    if word in _REFUSED:
        raise UsageError(f"{word} is not supported: {_REFUSED[word]}")
    if word.startswith(("--offload-arch=", "--amdgpu-target=", "--cuda-gpu-arch=")):
        line.archs += [arch for arch in _archs(word) if arch not in line.archs]
    elif word in _SIDES:
        line.side = _SIDES[word]
    elif word.startswith("-o"):
        line.output = word[2:]
    else:
        if word in _STEPS and line.step != "preprocess":
            line.step = _STEPS[word]
        if word not in ("-c", "-S", "-E", "-fsyntax-only", "--genco", "--hip-link"):
            line.words.append(word)


def _expanded(arguments: Iterable[str]) -> list[str]:
    out: list[str] = []
    for word in arguments:
        if word.startswith("@") and os.path.isfile(word[1:]):
            with open(word[1:], encoding="utf-8") as file:
                out += _expanded(shlex.split(file.read()))
        else:
            out.append(word)
    return out


def _archs(word: str) -> list[str]:
    out = []
    for named in word.split("=", 1)[1].split(","):
        # What follows a colon are features that both have: sramecc+, xnack-.
        arch = default_arch() if named == "native" else named.split(":")[0]
        if arch not in ARCHS:
            raise UsageError(
                f"{word}: the emulator has {' and '.join(ARCHS)}, and not '{arch}'")
        out.append(arch)
    return out


def default_arch() -> str:
    """That of MLA_TESTBED_ARCH, as rocm_agent_enumerator would say; else gfx942."""
    return os.environ.get("MLA_TESTBED_ARCH") or ARCHS[0]


def _input(path: str, language: str | None, hipcc: bool) -> Input:
    source = path.endswith(_SOURCES) or (language is not None and not _is_linked(path))
    named = path.endswith(_HIP) or (hipcc and path.endswith(_HIP_OF_HIPCC))
    hip = source and (language == "hip" if language is not None else named)
    return Input(path, hip, source, language)


def _is_linked(path: str) -> bool:
    return path.endswith((".o", ".a", ".so", ".obj", ".bc")) or ".so." in path
