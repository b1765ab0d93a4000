#!/usr/bin/env python3
"""The job of pull-request.yml that uses the shipped action, step by step as GitHub runs it:
conditions, shell, working directory, outputs. It is green, and red for a planted failure.

action_job_test.py MLA_TESTBED [--build]    the command stands where the action's first step makes
                                            it; --build executes that step too, in this checkout
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    import yaml  # type: ignore[import-untyped]
except ImportError:  # Debian's package is for Debian's Python
    debian = "/usr/bin/python3"
    if Path(debian).exists() and Path(sys.executable).resolve() != Path(debian).resolve():
        os.execv(debian, [debian, *sys.argv])
    print("there is no PyYAML; Debian's package is python3-yaml", file=sys.stderr)
    sys.exit(10)

ROOT = Path(__file__).resolve().parents[3]
ACTION = Path(".github/actions/judge")
#: What GitHub runs for `shell: bash`.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
#: Actions of GitHub itself: the checkout is the workspace, and nothing is uploaded.
FOREIGN = ("actions/checkout@", "actions/upload-artifact@")


def value(expression: str, context: dict[str, Any]) -> Any:
    """What an expression is; only those that these two files have."""
    text = re.sub(r"\b(inputs|steps)((?:\.[\w-]+)+)", lambda m: f"look('{m[1]}{m[2]}')", expression)

    def look(path: str) -> Any:
        found: Any = context
        for name in path.split("."):
            found = found.get(name, "") if isinstance(found, dict) else ""
        return found

    text = text.replace("&&", " and ").replace("||", " or ")
    return eval(text, {"look": look, "always": lambda: True})  # pylint: disable=eval-used


def filled(text: Any, context: dict[str, Any]) -> str:
    """A text with its ${{ }}."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(value(m[1].strip(), context)), str(text))


class Job:
    """One job in its workspace."""

    def __init__(self, workspace: Path, scratch: Path, build: bool) -> None:
        """Without `build` the action's first step is left out."""
        self.workspace, self.scratch, self.build = workspace, scratch, build
        self.context: dict[str, Any] = {"inputs": {}, "steps": {}}
        self.failed = ""
        self.ran: list[str] = []

    def shell(
        self, step: dict[str, Any], name: str, context: dict[str, Any], action: Path | None
    ) -> None:
        """A `run:` step."""
        if self.failed and "always()" not in step.get("if", ""):
            return
        if "if" in step and not value(step["if"], context):
            return
        assert step.get("shell", "bash") == "bash", f"{name}: shell {step['shell']}"
        files = {key: self.scratch / key for key in ("output", "summary")}
        files["output"].write_text("", encoding="utf-8")
        script = self.scratch / "script.sh"
        script.write_text(filled(step["run"], context), encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
        }
        env |= {key: filled(text, context) for key, text in step.get("env", {}).items()}
        if action:
            env["GITHUB_ACTION_PATH"] = str(self.workspace / action)
        done = subprocess.run(
            [*BASH, str(script)],
            cwd=self.workspace,
            env=env,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.ran.append(f"{name}: exit {done.returncode}")
        if "id" in step:
            lines = files["output"].read_text(encoding="utf-8").splitlines()
            context["steps"][step["id"]] = {"outputs": dict(line.split("=", 1) for line in lines)}
        if done.returncode != 0:
            self.failed = (
                self.failed or f"{name} ended with {done.returncode}:\n{done.stdout[-2000:]}"
            )

    def uses(self, step: dict[str, Any]) -> None:
        """A step that is the action itself."""
        action = yaml.safe_load(
            (self.workspace / ACTION / "action.yml").read_text(encoding="utf-8")
        )
        given = step.get("with", {})
        unknown = given.keys() - action["inputs"].keys()
        assert not unknown, f"the action has no input {unknown}"
        inputs = {
            key: str(given.get(key, entry.get("default", "")))
            for key, entry in action["inputs"].items()
        }
        context = {"inputs": inputs, "steps": {}}
        for inner in action["runs"]["steps"]:
            if "uses" in inner:
                assert inner["uses"].startswith(FOREIGN), inner["uses"]
                if value(inner.get("if", "always()"), context):
                    kept = self.workspace / filled(inner["with"]["path"], context)
                    self.ran.append(f"{inner['name']}: {len(list(kept.iterdir()))} files")
                continue
            if inner["name"].startswith("Build") and not self.build:
                continue
            self.shell(inner, inner["name"], context, ACTION)
        outputs = {key: filled(entry["value"], context) for key, entry in action["outputs"].items()}
        self.context["steps"][step.get("id", "")] = {"outputs": outputs}

    def run(self, steps: list[dict[str, Any]]) -> None:
        """All of them."""
        for step in steps:
            if step.get("uses", "").startswith(FOREIGN):
                continue
            if "uses" in step:
                assert step["uses"] == f"./{ACTION}", step["uses"]
                if not self.failed:
                    self.uses(step)
            else:
                self.shell(step, step["name"], self.context, None)


def workspace(folder: Path, binary: Path) -> Path:
    """What the job sees of this checkout, with the command where the build puts it."""
    out = folder / "work space"
    (out / "build/cpu-release").mkdir(parents=True)
    for name in (".github", "fixtures"):
        shutil.copytree(
            ROOT / name,
            out / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("golden", "corpus", "plans"),
        )
    (out / "build/cpu-release/mla-testbed").symlink_to(binary)
    return out


def main() -> int:
    """The job as it stands, then with planted failures."""
    binary, build = Path(sys.argv[1]).resolve(), "--build" in sys.argv
    workflow = yaml.safe_load(
        (ROOT / ".github/workflows/pull-request.yml").read_text(encoding="utf-8")
    )
    steps = workflow["jobs"]["action"]["steps"]
    wrong = []

    def job(what: str, changed: list[dict[str, Any]], red: bool, built: bool = False) -> Job:
        with tempfile.TemporaryDirectory() as folder:
            place = ROOT if built else workspace(Path(folder), binary)
            done = Job(place, Path(folder), built)
            done.run(changed)
        print(f"{what}: {'red' if done.failed else 'green'}; " + "; ".join(done.ran))
        if bool(done.failed) != red:
            wrong.append(f"{what} is {'green' if red else 'red'}: {done.failed}")
        return done

    def with_inputs(**inputs: str) -> list[dict[str, Any]]:
        return [step | {"with": inputs} if step.get("id") == "judge" else step for step in steps]

    green = job("as it stands", steps, red=False, built=build)
    if green.context["steps"]["judge"]["outputs"].get("exit-code") != "0":
        wrong.append(f"the outputs are {green.context['steps']['judge']}")
    job("a bundle with a broken plan", with_inputs(bundles="fixtures/bundles/rows"), red=True)
    job(
        "a property that fails",
        with_inputs(cases="fixtures/cases/smoke.txt", random="60", options="--property P00"),
        red=True,
    )
    job("a file that is not there", with_inputs(cases="fixtures/cases/none.txt"), red=True)
    planted = [
        step | {"run": step["run"].replace(" --plant SEED-qo-arange", "")}
        if "planted" in step.get("name", "")
        else step
        for step in steps
    ]
    job("the planted step without its plant", planted, red=True)
    for sentence in wrong:
        print(f"FAILED: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
