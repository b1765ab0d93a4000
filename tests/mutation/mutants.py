"""Mutants of a source file: every place where one token may become another, or a call may go."""
import json
import re

# Operators with blanks around them, so that templates, references and includes stay as they are.
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
         (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "),
         (" * ", " + "), (" / ", " * "), (" % ", " / "), (" += ", " -= "), (" -= ", " += "),
         ("++", "--"), ("true", "false"), ("false", "true"), ("std::min", "std::max"),
         ("std::max", "std::min"), ("min_of", "max_of"), ("max_of", "min_of"), (" 0)", " 1)"),
         (" 1)", " 2)"), (" + 1", " + 2"), (" - 1", " - 2"), ("continue;", "break;")]
SKIP = re.compile(r'^\s*(//|#|template|static_assert|using|namespace|MLA_DEVICE|MLA_KERNEL)'
                  r'|assert\(|"|\boperator\b')
BRANCH = re.compile(r"\bif \((?!auto|const|Status)(.*)\)( .*|\s*)$")
CALL = re.compile(r"^\s*((?!return\b|else\b)[\w:.\->]+(<[^<>]*>)?\(.*\));(\s*//.*)?\s*$")


class Mutant:
    def __init__(self, file, source, begin, end, text):
        self.file, self.begin, self.end, self.text = file, begin, end, text
        self.line = source.count("\n", 0, begin) + 1
        self.old = source[begin:end]
        self.code = source.splitlines()[self.line - 1].strip()

    def apply(self, source):
        return source[: self.begin] + self.text + source[self.end :]

    def __str__(self):
        change = f"'{self.old.strip()}' -> '{self.text.strip()}'"
        return f"{self.file}:{self.line}: {change} in {self.code}"


def lines_for_amd(source):
    """For each line whether the device code of the AMD targets has it."""
    asked, out = [], []  # open questions, each with the side that we are on
    for line in source.splitlines():
        word = line.strip()
        if word.startswith("#if"):
            asked.append([word, True])
        elif word.startswith("#else") and asked:
            asked[-1][1] = False
        elif word.startswith("#endif") and asked:
            asked.pop()
        out.append(all(side == (question == "#if MLA_AMD") for question, side in asked
                       if question in ("#if MLA_AMD", "#if !MLA_AMD")))
    return out


def mutants_of(file, source):
    out, at = [], 0
    exists = lines_for_amd(source) if "kernels" in str(file) else None
    for number, line in enumerate(source.splitlines(keepends=True)):
        code = line.split("//")[0]
        spots = []
        if not SKIP.search(line) and (exists is None or exists[number]):
            for old, new in SWAPS:
                spots += [(m.start(), m.start() + len(old), new)
                          for m in re.finditer(re.escape(old), code)]
            branch = BRANCH.search(code)
            if branch and branch.group(1).count("(") == branch.group(1).count(")"):
                spots.append((branch.start(1), branch.end(1), f"!({branch.group(1)})"))
            call = CALL.match(line)
            if call and call.group(1).count("(") == call.group(1).count(")"):
                spots.append((call.start(1), call.end(1), ""))
        out += [Mutant(file, source, at + b, at + e, text) for b, e, text in spots]
        at += len(line)
    return out


class Explained:
    """Mutants that change nothing that can be seen, each with its reason; found by file and text of
    the line, so that they survive while lines move."""

    def __init__(self, path):
        self.entries = json.loads(path.read_text())["survivors"]

    def reason(self, mutant):
        for e in self.entries:
            if (e["file"], e["line"], e["from"], e["to"]) == (
                    str(mutant.file), mutant.code, mutant.old.strip(), mutant.text.strip()):
                return e["why"]
        return None
