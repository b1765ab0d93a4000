"""Kernels that are compiled when they are launched for the first time.

A unit of many kernels takes seconds to parse and minutes to optimise, and a program launches few
of them. Its bitcode is kept as the front end left it; for a launch everything that the kernel does
not use is removed, and the rest goes the way that it would have gone in the whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from .toolchain import Toolchain

#: As hip_runtime/unit.hpp reads it.
_HEAD = "MLA-TESTBED BITCODE 1"
#: The variable through which a kernel prints: each piece of code has its own, set by the runtime.
_PRINTS = "__mla_print_buffer"
_GLOBAL = re.compile(r"@(\S+) = (.*)")
_MOST_BYTES = 512 << 20


def entry(tools: Toolchain, arch: str, bitcode: str, options: list[str]) -> bytes | None:
    """What the runtime finds in the program. None if kernels of the unit share variables, which
    each would have for itself."""
    if _shared_variable(tools, bitcode) is not None:
        return None
    lines = [_HEAD, f"arch {arch}", f"compiler {tools.hipcc}", f"clang {tools.clang}",
             f"version {tools.version}", *(f"option {option}" for option in _back_end(options))]
    with open(bitcode, "rb") as file:
        return ("\n".join(lines) + "\n\n").encode() + file.read()


def compile_kernel(tools: Toolchain, kernel: str, entry_file: str, output: str) -> None:
    """The code object of one kernel of an entry, from the cache if it is there."""
    with open(entry_file, "rb") as file:
        whole = file.read()
    head, bitcode = whole.split(b"\n\n", 1)
    words = [line.split(" ", 1) for line in head.decode().split("\n")[1:]]
    told = {name: value for name, value in words if name != "option"}
    options = [value for name, value in words if name == "option"]
    quick = _cached(hashlib.sha256(whole + b"\0" + kernel.encode()))
    if _take(quick, output):
        return
    with tempfile.TemporaryDirectory(prefix="mla-testbed-kernel-") as scratch:
        unit, part = (os.path.join(scratch, name) for name in ("unit.bc", "kernel.bc"))
        with open(unit, "wb") as file:
            file.write(bitcode)
        _run([tools.tool("opt"), "-passes=internalize,globaldce",
              f"-internalize-public-api-list={kernel},{_PRINTS}", unit, "-o", part])
        with open(part, "rb") as file:
            exact = _cached(hashlib.sha256(b"\0".join((head, kernel.encode(), file.read()))))
        if not _take(exact, output):
            code = os.path.join(scratch, "kernel.co")
            _run([tools.clang, "-x", "ir", part, "--target=amdgcn-amd-amdhsa",
                  f"-mcpu={told['arch']}", "-nogpulib", "-Wno-unused-command-line-argument",
                  *options, "-o", code])
            shutil.copyfile(code, output)
            _keep(output, exact)
        _keep(output, quick)
    _prune(os.path.dirname(os.path.dirname(exact)))


def _shared_variable(tools: Toolchain, bitcode: str) -> str | None:
    """A variable of the device that outlives a kernel. Text of bitcode begins with the globals."""
    with subprocess.Popen([tools.tool("llvm-dis"), bitcode, "-o", "-"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        found = None
        for line in process.stdout:
            if line.startswith("define "):
                break
            matched = _GLOBAL.match(line)
            if matched is not None and _is_variable(*matched.groups()):
                found = matched.group(1)
                break
        process.kill()
    return found


def _is_variable(name: str, said: str) -> bool:
    if name.startswith(("llvm.", "__hip_cuid_", _PRINTS)) or "addrspace(3)" in said:
        return False
    words = said.split()
    if "external" in words or "extern_weak" in words:
        return False
    # Clang says of each constexpr member of a class that the host may change it; no call can.
    constexpr = "linkonce_odr" in words and "constant" in words
    return "global" in words or ("externally_initialized" in words and not constexpr)


def _back_end(options: list[str]) -> list[str]:
    """Of a compilation's options those that the optimiser and the code generator read."""
    out, words = [], iter(options)
    for word in words:
        if word == "-mllvm":
            out += [word, next(words, "")]
        elif word in ("-I", "-D", "-U", "-include", "-isystem", "-iquote", "-imacros", "-Xclang",
                      "-idirafter", "-L", "-l"):
            next(words, None)
        elif word.startswith(("-O", "-f", "-m", "-g")) and not word.startswith("-fPI"):
            out.append(word)
    return out


def _run(words: list[str]) -> None:
    code = subprocess.run(words, check=False).returncode
    if code != 0:
        raise SystemExit(1)


def cache() -> str:
    """The directory of what is kept from one process to the next."""
    chosen = os.environ.get("MLA_TESTBED_CACHE")
    if chosen:
        return chosen
    of_user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(of_user, "mla-testbed")


def _cached(key: hashlib._Hash) -> str:
    name = key.hexdigest()
    return os.path.join(cache(), "kernels", name[:2], f"{name}.co")


def _take(path: str, output: str) -> bool:
    try:
        shutil.copyfile(path, output)
        os.utime(path)
    except OSError:
        return False
    return True


def _keep(made: str, path: str) -> None:
    """Puts a file into the cache, whole or not at all: one that cannot be written keeps nothing."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        number, beside = tempfile.mkstemp(dir=os.path.dirname(path))
    except OSError:
        return
    os.close(number)
    try:
        shutil.copyfile(made, beside)
        os.replace(beside, path)
    except OSError:
        os.remove(beside)


def _prune(directory: str) -> None:
    """Removes what was not used for longest, until the rest is small enough."""
    files = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            try:
                files.append((os.stat(path), path))
            except OSError:
                continue  # another process removed it
    total = sum(status.st_size for status, _ in files)
    for status, path in sorted(files, key=lambda file: file[0].st_mtime):
        if total <= _MOST_BYTES:
            break
        total -= status.st_size
        try:
            os.remove(path)
        except OSError:
            continue
