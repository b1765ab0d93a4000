"""The command. As `clang++` it is clang, but for HIP sources."""

from __future__ import annotations

import os
import sys
import tempfile

from . import compiling, kernels, toolchain
from .command_line import CommandLine, Input, UsageError, read

_HELP = """hipcc of the emulated gfx942 and gfx950 (mla-testbed): clang++ with HIP, without ROCm

    hipcc [OPTIONS] FILES...    the options of clang++, and --offload-arch=gfx942|gfx950, --genco

From the environment:
    MLA_TESTBED_CLANG           the clang++ to use; else the newest from 20 on that PATH has
    MLA_TESTBED_ARCH            what is compiled for without --offload-arch; else gfx942
    MLA_TESTBED_LAZY_KERNELS=1  each kernel is compiled when it is launched for the first time
    MLA_TESTBED_CACHE           where such kernels are kept; else ~/.cache/mla-testbed
    MLA_TESTBED_DEPENDENCIES    a directory for a dependency file of each compilation
    HIPCC_VERBOSE=1             print the commands
"""


def main(words: list[str], home: str) -> int:
    """Runs the command line. Exit: 0, that of clang where it failed, 2 for what is refused."""
    name = os.path.basename(words[0])
    try:
        tools = toolchain.find(home)
        if words[1:2] == ["--mla-kernel"]:
            _, _, kernel, _, entry, _, output = words
            kernels.compile_kernel(tools, kernel, entry, output)
            return 0
        hipcc = not name.startswith(("clang", "amdclang"))
        return _compile(tools, read(words[1:], hipcc=hipcc), words[1:], hipcc)
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _compile(tools: toolchain.Toolchain, line: CommandLine, words: list[str], hipcc: bool) -> int:
    if hipcc and (not words or "--help" in words):
        print(_HELP, end="")
    elif hipcc and "--version" in words:
        print("HIP version: 6.4.0 (mla-testbed, an emulated device)", flush=True)
        toolchain.call([tools.clang, "--version"])
    elif not line.inputs or not (hipcc or any(source.hip for source in line.inputs)):
        _as_clang(tools, line, words, hipcc)
    elif line.step == "genco":
        _genco(tools, line)
    elif line.step in ("preprocess", "syntax", "assembly") or \
            (line.step == "object" and line.side != "both"):
        compiling.pass_through(tools, line)
    elif line.step == "object":
        _objects(tools, line)
    else:
        _link(tools, line)
    return 0


def _as_clang(tools: toolchain.Toolchain, line: CommandLine, words: list[str],
              hipcc: bool) -> None:
    """Links, or answers a question about the compiler."""
    where = [] if hipcc else [f"--rocm-path={tools.home}"]
    runtime: list[str] = []
    if line.step == "link" and line.inputs:
        if hipcc or "--hip-link" in words:
            runtime = [f"-L{tools.library}", "-lamdhip64"]
        if runtime or any("amdhip64" in word for word in words):
            runtime.append(f"-Wl,-rpath,{tools.library}")
    plain = [word for word in words if word not in ("--hip-link", "-fno-gpu-rdc")]
    toolchain.call([tools.clang, *where, *plain, "-Wno-unused-command-line-argument", *runtime])


def _genco(tools: toolchain.Toolchain, line: CommandLine) -> None:
    sources = [source for source in line.inputs if source.hip]
    if len(sources) != 1:
        raise UsageError(f"--genco makes one file of one source, and not of {len(sources)}")
    with tempfile.TemporaryDirectory(prefix="mla-testbed-hipcc-") as scratch:
        code = compiling.device_bundle(tools, line, sources[0].path, scratch)
    with open(line.output or "a.out", "wb") as file:
        file.write(code)


def _objects(tools: toolchain.Toolchain, line: CommandLine) -> None:
    sources = [source for source in line.inputs if source.source]
    if line.output is not None and len(sources) > 1:
        raise UsageError(f"-o {line.output} with -c is for one source, and not for {len(sources)}")
    for source in sources:
        stem = os.path.splitext(os.path.basename(source.path))[0]
        compiling.compile_source(tools, line, source, line.output or f"{stem}.o")


def _link(tools: toolchain.Toolchain, line: CommandLine) -> None:
    words: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mla-testbed-hipcc-") as scratch:
        for number, word in enumerate(line.words):
            if isinstance(word, str):
                words.append(word)
            elif not word.source:
                words.append(word.path)
            else:
                words.append(_object(tools, line, word, os.path.join(scratch, f"{number}.o")))
        compiling.link(tools, line, words, line.output or "a.out")


def _object(tools: toolchain.Toolchain, line: CommandLine, source: Input, path: str) -> str:
    compiling.compile_source(tools, line, source, path)
    return path
