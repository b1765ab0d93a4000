#!/usr/bin/env python3
"""The recipes of docs/use/shards.md, with fewer cases: each index judges a share, merged to all.

    recipes_test.py build/.../mla-testbed

Exit: 0 each merge reports what one run does, 1 one does not.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from documented import ROOT

WHAT = "--cases 34 --property P00,P05 --no-progress"


def blocks():
    """The fenced blocks below the heading: GitHub's, Slurm's, Kubernetes's. Python's has a test of
    its own, tests/python/workers_test.py."""
    text = (ROOT / "docs/use/shards.md").read_text().split("## Recipes")[1]
    found = re.findall(r"```(?:bash|yaml)\n(.*?)```", text, re.S)
    assert len(found) == 3, f"expected three recipes, found {len(found)}"
    return found


def github(text):
    """(script of each shard, script of the merge)."""
    runs = re.findall(r"^ +- run: (.*)$", text, re.M)
    shards = re.search(r"matrix: \{shard: \[([\d, ]+)\]\}", text).group(1).split(", ")
    assert len(runs) == 2 and text.count("if: always()") == 2
    return [runs[0].replace("${{ matrix.shard }}", shard) for shard in shards], runs[1]


def slurm(text):
    count = int(re.search(r"^#SBATCH --array=1-(\d+)$", text, re.M).group(1))
    merge = re.search(r"--wrap '(.*)'", text).group(1)
    return [f"SLURM_ARRAY_TASK_ID={i}\n{text}" for i in range(1, count + 1)], merge


def kubernetes(text):
    count = int(re.search(r"completions: (\d+)$", text, re.M).group(1))
    script = re.search(r"args:\n +- (.*)$", text, re.M).group(1)
    return [f"JOB_COMPLETION_INDEX={i}\n{script}" for i in range(count)], \
        "mla-testbed merge /records/*.json"


def execute(script, folder, testbed):
    script = script.replace("/records", f"{folder}/records")
    environment = {**os.environ, "PATH": f"{testbed.parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True,
                          capture_output=True, check=False)


def timeless(text):
    return re.sub(r'"seconds": [0-9.e-]+', '"seconds": T', text)


def judge(name, shards, merge, testbed):
    """What is wrong with a recipe; empty if nothing is."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "records").mkdir()
        for script in shards:
            changed = re.sub(r"--cases \d+", WHAT, script)
            assert changed != script, f"{name}: no --cases in {script}"
            done = execute(changed, folder, testbed)
            allowed = (0,) if name == "kubernetes" else (0, 1, 4)
            if done.returncode not in allowed:
                return f"a shard ended with {done.returncode}: {done.stderr}"
        merged = execute(f"{merge} --json --no-progress", folder, testbed)
        whole = execute(f"mla-testbed run {WHAT} --json", folder, testbed)
        if merged.returncode != whole.returncode:
            return f"the merge ended with {merged.returncode}, one run with {whole.returncode}: " \
                f"{merged.stderr}"
        if json.loads(merged.stdout)["backends"][0]["cases"] != 34:
            return "not all cases were judged"
        if timeless(merged.stdout) != timeless(whole.stdout):
            return "the merge reports something else than one run"
    return ""


def main():
    testbed = pathlib.Path(sys.argv[1]).resolve()
    wrong = 0
    for recipe, text in zip((github, slurm, kubernetes), blocks()):
        shards, merge = recipe(text)
        said = judge(recipe.__name__, shards, merge, testbed)
        wrong += bool(said)
        print(f"{recipe.__name__}, {len(shards)} shards: {said or 'ok'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
