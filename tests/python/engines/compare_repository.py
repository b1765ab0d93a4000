"""A git repository of an engine of our own, and mla-testbed-engines compare over it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
ENGINE = "fake_engine:Sound"
_SOUND = pathlib.Path(__file__).with_name("fake_engine.py").read_text(encoding="utf-8")

#: What a case of the engine begins with.
_ADAPT = "    def adapt(self, line: CaseLine) -> CaseLine:\n"


class Repository:
    """Commits of fake_engine.py at the root."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place = place
        place.mkdir()
        self.git("init", "-q")
        self.text = _SOUND
        self.commit("sound")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", self.place, "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, title: str, old: str = "", new: str = "") -> None:
        """One more, in which the first `old` of the file is `new`."""
        assert old in self.text
        self.text = self.text.replace(old, new, 1)
        self.write("fake_engine.py", self.text, title)

    def plant(self, name: str) -> None:
        """One more: the engine has this defect (fake_engine.PLANTS)."""
        self.commit(name, _ADAPT, f'{_ADAPT}        self.plant = "{name}"\n'
                                  f'        self.attends = {name != "NoAttention"}\n')

    def undo(self) -> None:
        """One more: without the last."""
        self.git("revert", "--no-edit", "HEAD")
        self.text = (self.place / "fake_engine.py").read_text(encoding="utf-8")

    def write(self, file: str, text: str, title: str) -> None:
        (self.place / file).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", title)

    def compare(self, *arguments: object, code: int, cases: int = 12, base: str = "HEAD~1",
                cache: pathlib.Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """The command over the last two commits."""
        kept = {"MLA_TESTBED_CACHE": str(cache or self.place.parent / "cache"), **more}
        done = subprocess.run(
            [*COMMAND, "compare", "--engine", ENGINE, "--src", str(self.place), "--base", base,
             "--cases", str(cases), "--arch", "gfx942", "--attend", "3", *map(str, arguments)],
            capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **kept})
        assert done.returncode == code, done.stdout + done.stderr
        return done
