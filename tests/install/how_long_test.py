#!/usr/bin/env python3
"""What `pip install .` says before it compiles: on the terminal, though pip keeps a build's output.

Exit: 0 it says so, 1 it does not.
"""

import os
import pathlib
import pty
import select
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURE = ["cmake", "-P", str(ROOT / "properties/python/how_long.cmake")]


def environment(**more: str) -> dict[str, str]:
    """OMP_NUM_THREADS says nothing of a build; nproc would take it for the number of CPUs."""
    kept = {k: v for k, v in os.environ.items() if k != "CMAKE_BUILD_PARALLEL_LEVEL"}
    return {**kept, "OMP_NUM_THREADS": "7", **more}


def on_terminal() -> str:
    """What a terminal shows while a build runs below it whose own output goes elsewhere."""
    child, terminal = pty.fork()
    if child == 0:
        quiet = subprocess.run(
            CONFIGURE, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        os._exit(quiet.returncode)
    shown = b""
    try:
        while select.select([terminal], [], [], 30)[0] and (read := os.read(terminal, 4096)):
            shown += read
    except OSError:  # the other end is closed
        pass
    assert os.waitpid(child, 0)[1] == 0
    return shown.decode()


def piped(**more: str) -> str:
    """What the build prints without a terminal."""
    done = subprocess.run(
        CONFIGURE,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert done.stderr == "", done.stderr
    return done.stdout


class HowLong(unittest.TestCase):
    def test_the_terminal_shows_time_and_cpus(self) -> None:
        self.assertRegex(
            on_terminal(),
            r"\nmla-testbed: compiling takes about \d+ minutes of one "
            rf"CPU, about \d+ on {len(os.sched_getaffinity(0))} as here",
        )

    def test_the_output_of_the_build_has_it_and_no_terminal_is_no_error(self) -> None:
        self.assertIn("-- mla-testbed: compiling takes about", piped())

    def test_fewer_jobs_take_longer(self) -> None:
        self.assertIn(
            "about 18 minutes of one CPU, about 18 on 1 as here",
            piped(CMAKE_BUILD_PARALLEL_LEVEL="1"),
        )

    def test_a_limit_that_is_none_is_left_to_cmake(self) -> None:
        self.assertEqual(piped(CMAKE_BUILD_PARALLEL_LEVEL="many"), piped())


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
