#!/usr/bin/env python3
"""docs/reference/environment.md names every environment variable that is read, and no other.

Exit: 0 it does, 1 one is missing or is read nowhere.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/reference/environment.md"
# Those of AITER, its engines and the system, which have their own pages.
FOREIGN = {"AITER_ENABLE_EXPERIMENTAL", "AITER_JIT_DIR", "AITER_VERSION", "CU_NUM", "GPU_ARCHS",
           "SGLANG_DISABLE_AITER_GREEDY_SAMPLE", "SGLANG_DSA_FUSE_TOPK",
           "SGLANG_DSA_HIP_DISABLE_PRESHUFFLE",
           "SGLANG_ONE_VISIBLE_DEVICE_PER_PROCESS", "SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND",
           "SGLANG_USE_AITER", "TRITON_DEFAULT_FP_FUSION",
           "OMP_NUM_THREADS", "PYTHONPATH", "TERM", "PATH", "VLLM_ROCM_USE_AITER_LINEAR",
           "VLLM_ROCM_USE_AITER_RMSNORM"}


def read_in_sources():
    """Variables of our own by name anywhere in Python; in C++ what getenv or its wrappers take, and
    constants of ours in headers."""
    found = set()
    python = [*(ROOT / "properties/python").rglob("*.py"),
              *(ROOT / "hip_backend/rocm").rglob("*.py")]
    for path in python:
        found |= set(re.findall(r"""["'](MLA_TESTBED_[A-Z_]+[A-Z])["']""", path.read_text()))
        found |= set(re.findall(r"""version_of\(\w+, ["']([A-Z_]+)["']""", path.read_text()))
        found |= set(re.findall(r"""environ(?:\.get)?[(\[]["']([A-Z_]+)["']""", path.read_text()))
    for folder in ("core", "cpu_backend", "hip_backend", "properties"):
        for path in (ROOT / folder).rglob("*.cpp"):
            found |= set(re.findall(r'getenv\("([A-Z_]+)"\)', path.read_text()))
        for path in (ROOT / folder).rglob("*.hpp"):
            found |= set(re.findall(r'= "(MLA_TESTBED_[A-Z_]+)"', path.read_text()))
    return found


def main():
    page = PAGE.read_text()
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", "".join(re.findall(r"^\|[^|]*\|", page, re.M))))
    read = read_in_sources() - FOREIGN
    for name in sorted(named - read):
        if name not in {"AITER_SRC"}:
            print(f"{PAGE.name}: nothing reads {name}")
    for name in sorted(read - named):
        print(f"{PAGE.name}: {name} is read and has no row")
    missing = (read - named) | (named - read - {"AITER_SRC"})
    print(f"{len(named)} variables, {len(missing)} wrong")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
