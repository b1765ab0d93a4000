"""HIP sources to objects: a device's half for each architecture, and the host's, which has them."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile

from . import kernels
from .bundles import bundle
from .command_line import CommandLine, Input, UsageError, default_arch
from .toolchain import Toolchain, call

#: Options about dependency files: the host's half answers them.
_DEPENDENCIES = ("-M", "-MM", "-MD", "-MMD", "-MP", "-MG")
_DEPENDENCIES_WITH_VALUE = ("-MF", "-MT", "-MQ")


def hip_options(tools: Toolchain, line: CommandLine) -> list[str]:
    """Options for every HIP source."""
    options = ["-nogpuinc", "-nogpulib", "-Wno-unused-command-line-argument",
               # With a ROCm in ROCM_PATH or HIP_PATH clang puts its own <algorithm> and <complex>
               # before the library's, which need what first.h has yet to declare.
               "-nohipwrapperinc",
               # An error of newer clangs, which ROCm's libraries were not written for.
               "-Wno-missing-template-arg-list-after-template-kw",
               "-D__HIP_PLATFORM_AMD__=1", "-include", "hip/device/first.h", *line.options,
               f"-I{tools.torch}", f"-isystem{tools.include}"]
    chosen = any(word.startswith(("-O", "-g")) for word in line.options)
    return options if chosen else ["-O3", *options]


def _identity(path: str) -> str:
    """Both halves name what they share after it; clang's own would tell the commands apart."""
    return f"-cuid={hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16]}"


def archs(line: CommandLine) -> list[str]:
    """What to compile for."""
    return line.archs or [default_arch()]


def compile_source(tools: Toolchain, line: CommandLine, source: Input, output: str) -> None:
    """Compiles a source to an object."""
    if not source.hip:
        call([tools.clang, *line.options, f"-I{tools.include}", *_language(source), "-c",
              source.path, "-o", output])
        return
    options = hip_options(tools, line)
    with tempfile.TemporaryDirectory(prefix="mla-testbed-hipcc-") as scratch:
        path = _file_of(source, scratch)
        image = os.path.join(scratch, "device.hipfb")
        with open(image, "wb") as file:
            file.write(device_bundle(tools, line, path, scratch))
        call([tools.clang, "-x", "hip", *options, f"--offload-arch={archs(line)[0]}",
              _identity(path), "--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary",
              "-Xclang", image,
              *_dependencies(line, path, "host"), "-c", path, "-o", output])


def device_bundle(tools: Toolchain, line: CommandLine, path: str, scratch: str) -> bytes:
    """The device's halves of a source, in a bundle."""
    lazy = os.environ.get("MLA_TESTBED_LAZY_KERNELS", "0") not in ("", "0")
    options = without_dependencies(hip_options(tools, line))
    codes: dict[str, bytes] = {}
    for arch in archs(line):
        output = os.path.join(scratch, arch)
        device = [tools.clang, "-x", "hip", *options, f"--offload-arch={arch}",
                  _identity(path), "--cuda-device-only", "--no-gpu-bundle-output", "-c", path]
        entry = None
        if lazy:
            call([*device, *_dependencies(line, path, arch), "-emit-llvm", "-Xclang",
                  "-disable-llvm-passes", "-o", output])
            entry = kernels.entry(tools, arch, output, options)
        if entry is None:
            call([*device, *_dependencies(line, path, arch), "-o", output])
            with open(output, "rb") as file:
                entry = file.read()
        codes[arch] = entry
    return bundle(codes)


def pass_through(tools: Toolchain, line: CommandLine) -> None:
    """What ends before there is an object: preprocessed text, assembly, a look at the syntax. Of
    both halves the text of the device's is given."""
    side = "device" if line.side == "both" and line.step == "preprocess" else line.side
    if side == "both" and line.step == "assembly":
        raise UsageError("-S needs --cuda-device-only or --cuda-host-only: there are two halves")
    step = {"preprocess": ["-E"], "syntax": ["-fsyntax-only"], "assembly": ["-S"],
            "object": ["-c"]}[line.step]
    if any(option in ("-M", "-MM") for option in line.options):
        step, side = [], "host"
    output = [] if line.output is None else ["-o", line.output]
    for source in line.inputs:
        if not source.hip:
            call([tools.clang, *line.options, f"-I{tools.include}", *_language(source), *step,
                  source.path, *output])
            continue
        sides = ("device", "host") if side == "both" else (side,)
        for half in sides:
            for arch in archs(line) if half == "device" else archs(line)[:1]:
                bundled = ["--no-gpu-bundle-output"] if half == "device" else []
                call([tools.clang, "-x", "hip", *hip_options(tools, line),
                      f"--offload-arch={arch}", f"--cuda-{half}-only", *bundled, *step,
                      source.path, *output])


def link(tools: Toolchain, line: CommandLine, words: list[str], output: str) -> None:
    """Links objects and options, in their order, with the emulator's runtime."""
    call([tools.clang, *words, f"-L{tools.library}", "-lamdhip64",
          f"-Wl,-rpath,{tools.library}", "-o", output])


def without_dependencies(options: list[str]) -> list[str]:
    """The options but for those about dependency files."""
    out, words = [], iter(options)
    for word in words:
        if word in _DEPENDENCIES_WITH_VALUE:
            next(words, None)
        elif word not in _DEPENDENCIES:
            out.append(word)
    return out


def _dependencies(line: CommandLine, path: str, half: str) -> list[str]:
    directory = os.environ.get("MLA_TESTBED_DEPENDENCIES")
    asked = half == "host" and any(word.startswith("-M") for word in line.options)
    if not directory or asked:
        return []
    name = hashlib.sha256(f"{os.path.abspath(path)} {line.output} {half}".encode()).hexdigest()[:16]
    return ["-MD", "-MF", os.path.join(directory, f"{name}.d"), "-MT", "object"]


def _file_of(source: Input, scratch: str) -> str:
    if source.path != "-":
        return source.path
    path = os.path.join(scratch, "stdin.hip")  # both halves read it
    with open(path, "wb") as file:
        file.write(sys.stdin.buffer.read())
    return path


def _language(source: Input) -> list[str]:
    return [] if source.language is None else ["-x", source.language]
