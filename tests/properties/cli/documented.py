"""Finds the commands of README.md, docs/ and .github/workflows/."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What makes a line of a code block, or a code span, a command.
PROGRAM = re.compile(
    r"(?:\w+=\S* )*(?:(?:\S*/)?mla-testbed|(?:\./)?hip_crosscheck|mla-fuzz|ctest|cmake|cpack|git|mkdir|export|import|from"
    r"|python3?|apt-get|bash|sh|\.ci/\S+|build/\S+|tests/\S+\.(?:sh|py)|properties/run\.sh)(?:\s|$)")
STATED = re.compile(r"\bexit (\d+)")


class Command:
    """`shown` is what a session prints below its command, None where it is not shown."""

    def __init__(self, text, where, shown=None, code=None):
        self.text, self.where, self.shown, self.code = text, where, shown, code


def split_comment(line):
    """A command and the exit code that the comment after it states."""
    text, _, comment = line.partition("  #") if "  #" in line else line.partition(" # ")
    stated = STATED.search(comment)
    return text.strip(), int(stated.group(1)) if stated else None


def in_block(lines, where):
    """The commands of one code block; a line that ends in a backslash goes on."""
    at = 0
    while at < len(lines):
        line = lines[at]
        while line.endswith("\\") and at + 1 < len(lines):
            at += 1
            line = line[:-1] + lines[at].strip()
        at += 1
        prompt = line.startswith("$ ")
        text, code = split_comment(line[2:] if prompt else line)
        if not prompt and not PROGRAM.match(text):
            continue
        shown = None
        if prompt:
            end = next((n for n in range(at, len(lines)) if lines[n].startswith("$ ")), len(lines))
            shown = "\n".join(lines[at:end]).rstrip()
            at = end
        yield Command(text, where, shown, code)


def in_page(path):
    """Commands in code blocks (indented, or fenced and not of Python) and in code spans."""
    where = str(path.relative_to(ROOT))
    block, prose, fenced, python = [], [], False, False
    for line in path.read_text().splitlines() + [""]:
        if line.startswith("```"):
            fenced = not fenced
            python = line == "```python"
        elif python:
            continue
        elif fenced or line.startswith("    "):
            block.append(line if fenced else line[4:])
        elif line == "" and block:
            block.append("")
        else:
            yield from in_block(block, where)
            block = []
            prose.append(line)
    yield from in_block(block, where)
    for span in re.findall(r"`([^`]+)`", "\n".join(prose)):
        text = re.sub(r"\s+", " ", span)
        if PROGRAM.match(text) and " " in text:  # more than the name of a program
            yield Command(text, where)


def in_workflow(path):
    """The `run:` steps; a step of several lines is known by its name. Matrices are expanded."""
    lines = path.read_text().splitlines()
    lists = dict(re.findall(r"(\w+): \[(.*)\]", path.read_text()))
    for at, line in enumerate(lines):
        found = re.match(r"( *)(?:- )?run: (.*)", line)
        if not found:
            continue
        scripts = [found.group(2)]
        name = None
        if found.group(2) == "|":
            indent = len(found.group(1)) + 1
            end = next((n for n in range(at + 1, len(lines))
                        if len(lines[n]) - len(lines[n].lstrip()) < indent), len(lines))
            scripts = ["\n".join(text.strip() for text in lines[at + 1:end])]
            name = f"{path.name}: {lines[at - 1].split('name: ')[-1]}"
        for variable in re.findall(r"\$\{\{ matrix\.(\w+) \}\}", scripts[0]):
            scripts = [re.sub(r"\$\{\{ matrix\." + variable + r" \}\}", value.strip(), script)
                       for script in scripts for value in lists[variable].split(",")]
        for script in scripts:
            command = Command(script, path.name)
            command.name = name or script
            yield command


def all_commands():
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found += in_page(page)
    for workflow in sorted((ROOT / ".github/workflows").glob("*.yml")):
        found += in_workflow(workflow)
    return found
