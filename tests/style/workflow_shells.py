#!/usr/bin/env python3
"""Each `run:` block of a workflow is accepted by the shell that GitHub gives it.

Steps of a job with `container:` get sh unless `shell:` says otherwise, and in Debian's images that
is dash: it has neither arrays nor `set -o pipefail`. A block and the files that it
sources are parsed by its shell, and its `set` lines are executed. And each workflow names its permissions.

  workflow_shells.py [FOLDER]    prints FILE, job, step and what the shell said; exits with 1 if any
                                 is refused, 10 without PyYAML, dash or bash
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import yaml
except ImportError:  # Debian's package is for Debian's Python
    debian = "/usr/bin/python3"
    if Path(debian).exists() and Path(sys.executable).resolve() != Path(debian).resolve():
        os.execv(debian, [debian, *sys.argv])
    print("there is no PyYAML; Debian's package is python3-yaml", file=sys.stderr)
    sys.exit(10)


ROOT = Path(__file__).parents[2]


def shell_of(workflow: dict[str, Any], job: dict[str, Any], step: dict[str, Any]) -> str:
    for place in (step, job.get("defaults", {}).get("run", {}),
                  workflow.get("defaults", {}).get("run", {})):
        if "shell" in place:
            return str(place["shell"])
    return "sh" if "container" in job else "bash"


def blocks(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Where each block stands, its shell, and its text without GitHub's expressions."""
    for path in sorted(folder.glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, job in workflow["jobs"].items():
            for number, step in enumerate(job.get("steps", []), 1):
                if "run" in step:
                    text = re.sub(r"\$\{\{.*?\}\}", "expression", step["run"])
                    yield f"{path.name}: {name}, step {number}", shell_of(workflow, job, step), text


def refusal(shell: str, text: str) -> str:
    command = {"sh": ["dash"], "bash": ["bash", "--noprofile", "--norc"]}.get(shell)
    if command is None:
        return f"its shell is '{shell}'; expected sh or bash"
    settings = "\n".join(re.findall(r"^\s*set [-+].*$", text, re.MULTILINE))
    sourced = [(ROOT / name).read_text(encoding="utf-8")
               for name in re.findall(r"^\s*\. (\S+)$", text, re.MULTILINE)]
    parsed = [(["-n"], script) for script in (text, *sourced)]
    for arguments, script in (*parsed, ([], settings)):
        done = subprocess.run([*command, *arguments], input=script, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            return f"{command[0]}: {done.stderr.strip()}"
    return ""


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".github/workflows"
    for tool in ("dash", "bash"):
        if shutil.which(tool) is None:
            print(f"there is no {tool}", file=sys.stderr)
            return 10
    found = list(blocks(folder))
    wrong = [f"{where}: {why}" for where, shell, text in found if (why := refusal(shell, text))]
    wrong += [f"{path.name}: it names no permissions" for path in sorted(folder.glob("*.yml"))
              if "permissions" not in yaml.safe_load(path.read_text(encoding="utf-8"))]
    print("\n".join(wrong) if wrong else f"{len(found)} blocks are accepted by their shells")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
