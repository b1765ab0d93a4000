"""What tests of an installed, unmodified engine share."""

import json
import os
import subprocess
import sys

import pytest
from mla_testbed.engines.client import Setting, interpreter


def needed(*variables):
    """Skips a test file unless these variables, each with what it names, are set."""
    for variable, what in (*variables, ("AITER_SRC", "a source tree of AITER")):
        if not os.environ.get(variable):
            pytest.skip(f"{variable} does not name {what}", allow_module_level=True)


def run(engine, *arguments):
    """mla-testbed-engines on an engine, over any version of AITER."""
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", *map(str, arguments), "--engine", engine,
         "--ported"],
        capture_output=True, text=True, timeout=900, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def planted(engine, plants, arguments=()):
    """Plant -> properties that fail, verdicts; all in one process of the engine's interpreter."""
    done = subprocess.run([interpreter(Setting(engine)), plants.__file__, *arguments],
                          capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return {plant: rest for plant, *rest in map(json.loads, done.stdout.splitlines())}
