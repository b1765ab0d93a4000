#!/usr/bin/env python3
"""What may include what: no folder one above it, no files each other in a circle, no file a header
of a CMake target that its own does not link. Libraries whose headers differ between versions are
included by one file each.

    tests/style/includes.py [ROOT]

A new folder has to be given its place here. Exit: 0 all is so, 1 something is not.
"""
import pathlib
import re
import sys

from cmake_targets import Targets, unit

TOPS = ("core", "cpu_backend", "hip_backend", "properties")

# From below. `core` alone is what lies in it without a folder.
ORDER = [
    "core", "core/numeric", "core/io", "core/case", "core/paging", "core/shape", "core/plan",
    "core/engine", "core/time",
    "cpu_backend",
    "hip_backend/gfx_emulator/isa", "hip_backend/gfx_emulator/elf", "hip_backend/gfx_emulator/memory",
    "hip_backend/gfx_emulator/object", "hip_backend/gfx_emulator/report",
    "hip_backend/gfx_emulator/exec", "hip_backend/gfx_emulator/check",
    "hip_backend/gfx_emulator/run",
    "hip_backend/gfx_emulator", "hip_backend/hip_runtime", "hip_backend/rocm", "hip_backend/aiter_source",
    "hip_backend/kernels",
    "hip_backend/device", "hip_backend/admission", "hip_backend/decode", "hip_backend/prefill",
    "hip_backend/planning", "hip_backend/assumptions", "hip_backend/aiter", "hip_backend/aiter_tree", "hip_backend/calls", "hip_backend",
    "properties/files", "properties/generate", "properties/dump", "properties/dump/read", "properties/dump/write",
    "properties/dump/blame", "properties/dump/check", "properties/dump/plan", "properties/dump/replay", "properties/step", "properties/claims",
    "properties/judge", "properties/plants", "properties/fuzz", "properties/show", "properties/app", "properties/browser",
    "properties/cli", "properties/c_api",
]
PLACE = {folder: i for i, folder in enumerate(ORDER)}
# Headers that moved between versions, and the file that knows where they are.
WRAPPED = {"catch2": "tests/catch.hpp", "xtensor": "cpu_backend/dense/matrix.hpp"}
WRAPPERS = {*WRAPPED.values(), "tests/main.cpp"}
FOREIGN = re.compile(r"^#include <(catch2|xtensor)/", re.M)
INCLUDE = re.compile(r'^#include "((?:core|cpu_backend|hip_backend|properties)/[^"]+)"', re.M)


def folder_of(path):
    """The longest listed folder that holds the file, or None."""
    parts = path.split("/")[:-1]
    for depth in (3, 2):
        if "/".join(parts[:depth]) in PLACE:
            return "/".join(parts[:depth])
    # cpu_backend is one folder with parts that use each other; elsewhere each folder is listed.
    return parts[0] if len(parts) == 1 or parts[0] == "cpu_backend" else None


def read_includes(root):
    """Each file of the project, and the files of the project that it includes."""
    files = (file for top in TOPS for file in sorted((root / top).rglob("*"))
             if file.suffix in (".cpp", ".hpp", ".hip", ".h"))
    return {file.relative_to(root).as_posix(): INCLUDE.findall(file.read_text()) for file in files}


def upward(includes):
    for path, all_used in includes.items():
        home = folder_of(path)
        if home is None:
            yield f"{path}: its folder has no place in ORDER"
            continue
        for used in all_used:
            other = folder_of(used)
            if other is None or PLACE[other] > PLACE[home]:
                yield f"{path}: includes {used}, which lies above {home}"


def reachable(graph, start):
    seen, open_ = set(), [start]
    while open_:
        new = graph.get(open_.pop(), set()) - seen
        seen |= new
        open_ += new
    return seen


def circles(includes):
    """Units that include each other, directly or through others."""
    graph = {}
    for path, all_used in includes.items():
        graph.setdefault(unit(path), set()).update({unit(u) for u in all_used} - {unit(path)})
    reached = {start: reachable(graph, start) for start in graph}
    found = {frozenset(other for other in reached[start] if start in reached.get(other, ()))
             for start in graph if start in reached[start]}
    return {" ".join(sorted(circle)) for circle in found}


def unlinked(root, includes):
    """File and header, where no target of the file links the header's."""
    targets = Targets(root, TOPS)
    seen = {path: [targets.seen_from(own) for own in targets.of(path)] for path in includes}
    return {f"{path} {used}" for path, all_used in includes.items() for used in all_used
            if any(not from_here & targets.of(used) for from_here in seen[path])}


def unwrapped(root):
    for top in (*TOPS, "tests"):
        for file in sorted((root / top).rglob("*.[ch]pp")):
            path = file.relative_to(root).as_posix()
            if path in WRAPPERS:
                continue
            for library in FOREIGN.findall(file.read_text()):
                yield f"{path}: includes a header of {library}; {WRAPPED[library]} has them"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parents[2]
    includes = read_includes(root)
    found = [*upward(includes), *unwrapped(root),
             *(f"a circle of includes: {one}" for one in sorted(circles(includes))),
             *(f"a header of a target that is not linked: {one}"
               for one in sorted(unlinked(root, includes)))]
    print("\n".join(found) or f"{len(ORDER)} folders, {len(includes)} files, no include runs upward")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
