#!/usr/bin/env python3
"""Executes the commands of README.md, docs/ and .github/workflows/.

    documents_test.py                        none is forgotten: see documented_commands.txt
    documents_test.py build/.../mla-testbed  and the quick ones do what the page says
    documents_test.py --nightly              the long ones, in the repository; hours
    documents_test.py --workflow             what the workflows run, in the repository; hours

Where the build has no device code, what runs on an emulated device is named and not executed.

A command ends with 0, or as the comment after it says (`# exit 1`); below a `$ ` stands what it
prints. What documented_commands.txt does not list is quick: it runs in every test run.

Exit: 0 all ended as documented, 1 some did not, or a list is out of date.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from documented import ROOT, all_commands, split_comment

LIST = pathlib.Path(__file__).with_name("documented_commands.txt")
LIMIT = 300  # seconds for a quick command; Release takes less than ten
CASE = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4"
# The data path of backend cpu is the best of the machine; the pages were written on one with AVX-512.
DATA_PATH = re.compile(r"(launched: cpu on) (?:avx512-bf16|avx512|avx2|portable)\b")
# What readers put in for themselves.
PLACEHOLDERS = {"'<case>'": f"'{CASE}'", "<dump>": "dump.json", "<property>": "P12",
                "<plant>": "SEED-qo-arange", "<target>": "line", "<files>": "fixtures/cases/*.txt",
                "<where>": "build/prefix"}
CALL = """{"cases": [{"name": "step 1", "arch": "gfx942", "num_cu": 80,
 "seqlens_qo_indptr": [0, 1, 2], "seqlens_kv_indptr": [0, 513, 1026], "kv_last_page_lens": [1, 1],
 "num_heads_per_head_k": 16, "num_heads_k": 1, "is_causal": true, "page_size": 1,
 "max_seqlen_qo": 1, "uni_seqlen_qo": 1}]}"""


def read_list():
    """Sections in their order: title -> [(command, exit code)]."""
    sections = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            title = line.strip("[]")
            sections[title] = []
        elif line and not line.startswith("#"):
            sections[title].append(split_comment(line))
    return sections


def key_of(command):
    return getattr(command, "name", command.text)


def execute(text, folder, environment, limit=None):
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    done = subprocess.run(["bash", "-c", "set -e\n" + text], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def complaint(command, code, out):
    """What differs from the page, or nothing."""
    if code != (command.code or 0):
        return f"ended with {code}, the page says {command.code or 0}"
    out = DATA_PATH.sub(r"\1 avx512", out)
    printed = "\n".join(line.rstrip() for line in out.rstrip().splitlines())
    if command.shown is None or command.shown == printed:
        return ""
    return "\n".join(difflib.unified_diff(command.shown.splitlines(), printed.splitlines(),
                                          "the page", "the command", lineterm="", n=1))


def judge(commands, folder, environment, limit=None):
    failed = 0
    for command in commands:
        begin = time.monotonic()
        try:
            code, out, err = execute(command.text, folder, environment, limit)
            wrong = complaint(command, code, out)
        except subprocess.TimeoutExpired:
            wrong, out, err = f"took more than {limit} s: list it as nightly in {LIST.name}", "", ""
        seconds = time.monotonic() - begin
        print(f"{'FAILED' if wrong else 'ok'} {seconds:.1f} s: {key_of(command)} ({command.where})")
        if wrong:
            failed += 1
            print(wrong, "--- stdout", out[-2000:], "--- stderr", err[-4000:], sep="\n")
        sys.stdout.flush()
    print(f"{len(commands)} commands, {failed} not as documented")
    return failed


def quick_folder(scratch, testbed):
    """The tree by links, so that what a command writes stays out of it."""
    for entry in ROOT.iterdir():
        (scratch / entry.name).symlink_to(entry)
    (scratch / "build").unlink(missing_ok=True)
    (scratch / "build/cpu-release").mkdir(parents=True)
    (scratch / "build/cpu-release/mla-testbed").symlink_to(testbed)
    (scratch / "calls.json").write_text(CALL)
    plan = subprocess.run([testbed, "plan", CASE, "--json"], capture_output=True, check=True)
    (scratch / "dump.json").write_bytes(plan.stdout)
    return scratch


def environment_of(testbed, scratch):
    path = f"{testbed.parent}:{testbed.parent / 'tests/hip_backend'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": f"{scratch}/summary", "TIME": "10m"}


def select(commands, sections, titles):
    """The commands of these sections, each once, in the order of the list."""
    listed = {text: (title, code) for title, entries in sections.items() for text, code in entries}
    order, seen, chosen = list(listed), set(), []
    for command in commands:
        title, code = listed.get(key_of(command), ("quick", None))
        command.code = command.code if command.code is not None else code
        if title in titles and (key_of(command), command.shown) not in seen:
            seen.add((key_of(command), command.shown))
            chosen.append(command)
    return sorted(chosen, key=lambda c: order.index(key_of(c)) if key_of(c) in order else -1)


def with_code(commands, testbed):
    """Those that this build can execute."""
    asked = [testbed, "replay", CASE, "--property", "P24", "--backend", "hip", "--device",
             "emulated:gfx942"]
    if b"has no code" not in subprocess.run(asked, capture_output=True).stdout:
        return commands
    left_out = [command for command in commands if "emulated:gfx" in command.text]
    for command in left_out:
        print(f"not run, this build has no device code: {key_of(command)} ({command.where})")
    return [command for command in commands if command not in left_out]


def main(arguments):
    commands, sections = all_commands(), read_list()
    known = {key_of(command) for command in commands}
    gone = [text for entries in sections.values() for text, _ in entries if text not in known]
    for text in gone:
        print(f"FAILED: {LIST.name} lists '{text}', which no page has any more")
    if len(commands) < 60:
        print(f"FAILED: found only {len(commands)} commands")
        return 1
    failed = len(gone)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        if arguments and arguments[0] in ("--nightly", "--workflow"):
            testbed = ROOT / "build/cpu-release/mla-testbed"
            titles = [arguments[0][2:]] + ["needs AITER_HSA"] * ("AITER_HSA" in os.environ)
            failed += judge(select(commands, sections, titles), ROOT,
                            environment_of(testbed, scratch))
        elif arguments:
            testbed = pathlib.Path(arguments[0]).resolve()
            failed += judge(with_code(select(commands, sections, ["quick"]), testbed),
                            quick_folder(scratch, testbed), environment_of(testbed, scratch), LIMIT)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
