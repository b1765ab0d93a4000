"""Two commits of AITER beside each other: which cases, plans and code objects changed."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Sequence

from .aiter_cases import Judged, full_case, judge_tree, read_judged
from .aiter_history import WATCHED, Commit, git, kept, take_out

#: Shapes that meet each family of kernels: heads, rows, dtypes, cut and whole, with a plan and
#: without.
CASES = {
    "gfx942": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q2s64_2q2s300;heads=16;cu=8;gran=1",
        "mla1:1q4s300;heads=16;cu=4;gran=1", "mla1:2q1s90;heads=128;cu=8;gran=1",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q2s200;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none"),
    "gfx950": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q4s300;heads=16;cu=4;gran=1",
        "mla1:2q1s90;heads=128;cu=8;gran=1", "mla1:1q2s200;heads=32;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none"),
}


@dataclasses.dataclass(frozen=True)
class Change:
    """One case whose answer changed. worse: it fails, or is not planned, and did not before."""

    arch: str
    case: str
    what: str
    worse: bool


@dataclasses.dataclass(frozen=True)
class Comparison:
    """files: that decide about the MLA and differ. cases: how many were judged on each side."""

    base: Commit
    head: Commit
    files: list[str]
    cases: int
    changes: list[Change]

    @property
    def worse(self) -> bool:
        """Whether anything is worse."""
        return any(change.worse for change in self.changes)

    def text(self) -> str:
        """For a terminal."""
        lines = [f"base {self.base.id[:10]} {self.base.date} {self.base.title}",
                 f"head {self.head.id[:10]} {self.head.date} {self.head.title}",
                 f"{len(self.files)} files of the MLA differ: {_some(self.files)}"]
        for change in self.changes:
            lines += [f"{'WORSE' if change.worse else 'other'} {change.arch} {change.case}",
                      f"  {change.what}"]
        lines.append(f"{self.cases} cases on each side, {len(self.changes)} answers changed, "
                     f"{sum(c.worse for c in self.changes)} for the worse")
        return "\n".join(lines)

    def markdown(self) -> str:
        """For a pull request."""
        lines = [f"MLA of `{self.base.id[:10]}` and `{self.head.id[:10]}` ({self.head.title}), "
                 "judged in an emulator of the instruction set with AITER's own planner, dispatch, "
                 "code objects and reduce.", "",
                 f"{len(self.files)} files differ; {self.cases} cases on each side.", ""]
        if not self.changes:
            return "\n".join([*lines, "No verdict and no plan changed.", ""])
        lines += ["| | architecture | case | what changed |", "|---|---|---|---|"]
        for change in self.changes:
            what = change.what.replace("|", "\\|")
            lines.append(f"| {'**worse**' if change.worse else 'other'} | {change.arch} | "
                         f"`{change.case}` | {what} |")
        lines += ["", "To see one again, with the tree checked out:", ""]
        seen = self.changes[0]
        lines += [f"    mla-testbed replay '{seen.case}' --backend aiter --device "
                  f"emulated:{seen.arch} --aiter .", ""]
        return "\n".join(lines)


def compare(clone: pathlib.Path, base: Commit, head: Commit, cases: dict[str, Sequence[str]]) \
        -> Comparison:
    """Judges the cases of each architecture over both commits.

    Raises:
        MlaError: a tree cannot be imported, or a case is no case.
    """
    files = git(clone, "diff", "--name-only", base.id, head.id, "--", *WATCHED).split()
    changes: list[Change] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="mla-testbed-compare-") as folder:
        for arch, lines in cases.items():
            full = [case for line in lines if (case := full_case(line, arch)) is not None]
            if not full:
                continue
            before, after = (_judged(clone, commit, pathlib.Path(folder) / commit.id, arch, full)
                             for commit in (base, head))
            count += len(full)
            for case in full:
                changes += [Change(arch, smallest or case, what, worse) for what, worse, smallest
                            in differences(before[case], after[case])]
    return Comparison(base, head, files, count, changes)


def _judged(clone: pathlib.Path, commit: Commit, tree: pathlib.Path, arch: str,
            cases: Sequence[str]) -> dict[str, Judged]:
    """What was said of the same files before, else what is said of the commit's now."""

    def make() -> str:
        if not tree.exists():
            take_out(clone, commit, tree)
        return json.dumps({case: dataclasses.asdict(judged) for case, judged
                           in judge_tree(tree, arch, cases).items()})

    told = json.loads(kept(("compare", commit.key, arch, *cases), make))
    return {case: read_judged(one) for case, one in told.items()}


def differences(before: Judged, after: Judged) -> list[tuple[str, bool, str]]:
    """What changed between two answers to one case: a sentence, whether it is worse, and the
    smallest case that shows it or ""."""
    out: list[tuple[str, bool, str]] = []
    for name in sorted(before.failures.keys() | before.skipped.keys() | after.failures.keys()
                       | after.skipped.keys()):
        out += _of_property(name, before, after)
    if bool(before.planless) != bool(after.planless):
        out.append((f"no plan: {after.planless}" if after.planless else
                    f"is planned, and was not: {before.planless}", bool(after.planless), ""))
    elif before.plan != after.plan:
        out.append((f"another plan: {_first_word(before.plan, after.plan)}", False, ""))
    return out


def _of_property(name: str, before: Judged, after: Judged) -> list[tuple[str, bool, str]]:
    if name in after.failures:
        now = after.failures[name]
        return [] if name in before.failures else [(f"{name} fails: {now.message}", True, now.case)]
    if name in after.skipped:  # what is not judged holds as little as what fails
        why = after.skipped[name]
        return [] if name in before.skipped else [(f"{name} is not judged: {why}", True, "")]
    was = "did not" if name in before.failures else "was not judged"
    return [(f"{name} holds, and {was}", False, "")]


def _first_word(before: dict[str, list[int]], after: dict[str, list[int]]) -> str:
    for name, words in after.items():
        old = before.get(name, [])
        if len(old) != len(words):
            return f"{name} has {len(words)} words, of {len(old)} before"
        for at, (was, now) in enumerate(zip(old, words, strict=True)):
            if was != now:
                count = sum(a != b for a, b in zip(old, words, strict=True))
                return f"{name}[{at}] is {now}, was {was} ({count} of {len(words)} differ)"
    return "a list is missing"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
