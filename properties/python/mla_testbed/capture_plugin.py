"""Dumps the steps of an engine that is not edited: on where MLA_TESTBED_CAPTURE names a folder.

vLLM calls `register` in each of its processes (entry point vllm.general_plugins). Any other engine
calls it through `capture_site`, a directory for PYTHONPATH whose sitecustomize.py every process of
the engine imports. Nothing is imported, and nothing changes, where the variable is not set.
"""
from __future__ import annotations

import functools
import os
import pathlib
import sys

FOLDER = "MLA_TESTBED_CAPTURE"
OPTIONS = "MLA_TESTBED_CAPTURE_OPTIONS"


def options_of(text: str) -> dict[str, int | bool]:
    """mla_capture.install()'s arguments in "steps=20,skip=5,tensors". ValueError: names the part
    that is none."""
    out: dict[str, int | bool] = {}
    for part in filter(None, (word.strip() for word in text.split(","))):
        name, equals, value = part.partition("=")
        if part == "tensors":
            out["tensors"] = True
        elif name in ("steps", "skip") and equals and value.isdecimal():
            out[name] = int(value)
        else:
            raise ValueError(f"'{part}': expected steps=N, skip=N or tensors")
    return out


@functools.cache
def register() -> None:
    """Captures from the moment at which AITER is imported; once, however often it is called."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    try:
        options = options_of(os.environ.get(OPTIONS, ""))
    except ValueError as e:
        print(f"mla_capture: nothing is captured: {OPTIONS} has {e}", file=sys.stderr)
        return
    from .mla_scheduler import after_import, watch  # noqa: PLC0415 where asked for

    def install(_: object) -> None:
        from . import mla_capture  # noqa: PLC0415

        mla_capture.install(folder, **options)  # type: ignore[arg-type]

    watch()
    after_import("aiter", install)


def site() -> pathlib.Path:
    """The directory for PYTHONPATH."""
    return pathlib.Path(__file__).parent / "capture_site"


if __name__ == "__main__":
    print(site())
