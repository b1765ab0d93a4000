"""What the tests of the stand-in share: its place, and programs that are compiled and run."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROCM = Path(os.environ["MLA_TESTBED_ROCM"])
HIPCC = ROCM / "bin" / "hipcc"


class InFolder(unittest.TestCase):
    """A folder for each test, with a cache of its own."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.cache = self.folder / "cache"

    def call(self, *words: object, code: int = 0, text: str | None = None,
             **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "MLA_TESTBED_CACHE": str(self.cache), **variables}
        done = subprocess.run([str(word) for word in words], cwd=self.folder, env=environment,
                              input=text, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def hipcc(self, *words: object, **more: object) -> subprocess.CompletedProcess[str]:
        return self.call(HIPCC, *words, **more)  # type: ignore[arg-type]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path
