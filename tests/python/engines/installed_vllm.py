"""What tests of an installed, unmodified vLLM share.

Importing this skips a test unless MLA_TESTBED_VLLM names a virtual environment with vLLM and
AITER_SRC AITER's sources.
"""

import json
import os
import subprocess
import sys

import pytest
from mla_testbed.engines.client import Setting, interpreter

for variable, what in (("MLA_TESTBED_VLLM", "an environment with vLLM (docs/use/engines.md)"),
                       ("AITER_SRC", "a source tree of AITER")):
    if not os.environ.get(variable):
        pytest.skip(f"{variable} does not name {what}", allow_module_level=True)


def run(*arguments):
    """mla-testbed-engines on vLLM, over any version of AITER."""
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", *map(str, arguments), "--engine", "vllm",
         "--ported"],
        capture_output=True, text=True, timeout=900, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def planted(plants, arguments):
    """Plant -> properties that fail, verdicts; all in one process of vLLM's interpreter."""
    done = subprocess.run([interpreter(Setting("vllm")), plants.__file__, *arguments],
                          capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return {plant: rest for plant, *rest in map(json.loads, done.stdout.splitlines())}
