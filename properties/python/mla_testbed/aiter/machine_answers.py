"""Programs that AITER asks about the machine: rocminfo and hipconfig, as files for the PATH."""

from __future__ import annotations

import pathlib

from ..world.machines import Machine

HIP_VERSION = "7.2.0"

# AITER looks for a word gfx..., and for the compute units of the agent whose type is GPU.
_ROCMINFO = """Agent 1
  Name:                    AMD EPYC (mla-testbed)
  Device Type:             CPU
Agent 2
  Name:                    {arch}
  Marketing Name:          {name}
  Device Type:             GPU
  Compute Unit:            {units}({units:#x})
"""


def write(directory: pathlib.Path, machine: Machine) -> None:
    """Writes both programs; they answer for this machine."""
    directory.mkdir(parents=True, exist_ok=True)
    rocminfo = _ROCMINFO.format(
        arch=machine.arch, name=machine.name, units=machine.compute_units)
    for name, answer in (("rocminfo", rocminfo), ("hipconfig", HIP_VERSION + "\n")):
        program = directory / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}END\n", encoding="utf-8")
        program.chmod(0o755)
