"""What a run over an engine prints: failure blocks, a summary, JUnit."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import re
import shlex
import xml.etree.ElementTree as ET

from ..ported import Ported
from .adapted import Change
from .findings import FAIL, INCONCLUSIVE, KNOWN, PASS, REFUSED, Judgement
from .ledger import Known

HELD, FAILED, USAGE, ENVIRONMENT, UNDECIDED, UNEXPECTED, SKIPPED = 0, 1, 2, 3, 4, 5, 10
_SHOWN = 8


@dataclasses.dataclass
class Block:
    """One failure, made smaller.

    Attributes:
        drawn: the case before. engine: "vllm 0.27.1". aiter: below it. options: of replay.
        shrinks: how often it was made smaller. times: cases that failed alike.
        bundles: folders that `mla-testbed check` reads, one for each step that failed.
        saved: where none is, why, or "".
        adapted: in what the first case that failed differs from `drawn`.
    """

    judgement: Judgement
    drawn: str
    engine: str
    aiter: str
    options: str
    shrinks: int = 0
    seed: int = 0
    times: int = 1
    bundles: tuple[str, ...] = ()
    saved: str = ""
    adapted: tuple[Change, ...] = ()

    def __str__(self) -> str:
        found = self.judgement
        first = found.findings[0]
        lines = [f"FAIL {','.join(found.properties)} {found.case} engine={self.engine} "
                 f"aiter={self.aiter}", f"  step {first.step}: {first.what}",
                 f"REPRO: {repro(found.case, self.options)}",
                 f"  seed {self.seed}, {self.shrinks} shrinks, drawn as {self.drawn}"]
        if self.adapted:
            lines.append(f"  changed for the engine: {'; '.join(map(str, self.adapted))}")
        lines += [f"    {detail}" for finding in found.findings for detail in finding.details]
        lines += [f"    bundle: {shlex.quote(one)}" for one in self.bundles]
        if self.saved and not self.bundles:
            lines.append(f"    no bundle: {self.saved}")
        return "\n".join(lines)


def repro(case: str, options: str) -> str:
    """The command that judges one case again."""
    return f"mla-testbed-engines replay {shlex.quote(case)} {options}"


def signature(found: Judgement) -> str:
    """Equal for failures that are probably one defect: their sentences without numbers."""
    first = found.findings[0]
    return f"{first.property} {found.facts.get('arch')} {re.sub(r'[0-9]+', '#', first.what)}"


@dataclasses.dataclass
class Tally:
    """Everything that a run counts."""

    engine: str
    version: str = ""
    aiter: str = ""
    verdicts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    known: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    reasons: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    opinions: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    example: dict[str, str] = dataclasses.field(default_factory=dict)
    adapted: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    steps: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    blocks: dict[str, Block] = dataclasses.field(default_factory=dict)
    unexpected: list[str] = dataclasses.field(default_factory=list)
    unattended: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    ported: Ported | None = None
    accepts_ports: bool = False

    def count(self, found: Judgement, verdict: str) -> None:
        """One case; `verdict` is that of the case after the ledger had a look at it."""
        self.verdicts[verdict] += 1
        for name in ("built", "planned", "attended", "replayed"):
            self.steps[name] += getattr(found, name)
        self.adapted[""] += bool(found.adapted)
        self.adapted.update(list(dict.fromkeys(change.kind for change in found.adapted)))
        if found.reason:
            kind = f"{found.verdict}: {re.sub(r'[0-9]+', '#', found.reason)}"
            self.reasons[kind] += 1
            self.example.setdefault(kind, found.case)
        for opinion in found.opinions:
            kind = re.sub(r"[0-9]+", "#", opinion)
            self.opinions[kind] += 1
            self.example.setdefault(kind, f"{opinion}: {found.case}")

    @property
    def cases(self) -> int:
        """Cases judged, whatever the verdict."""
        return sum(self.verdicts.values())

    @property
    def left_out(self) -> bool:
        """Whether changed C++ of AITER did not run, and that is not accepted."""
        return self.ported is not None and bool(self.ported.changed) and not self.accepts_ports

    def of_ports(self) -> list[str]:
        """What is said of ports beside the verdict."""
        if self.ported is None:
            return []
        return self.ported.lines() + [self.ported.advice("--ported")] * self.left_out

    def exit_code(self) -> int:
        """1 a failure, 5 a known one that passed, 4 undecided, nothing passed or changed C++ left
        out, 0."""
        if self.blocks:
            return FAILED
        if self.unexpected:
            return UNEXPECTED
        ran = self.verdicts[PASS] + self.verdicts[KNOWN]
        if self.interrupted or self.verdicts[INCONCLUSIVE] or ran == 0 or self.left_out:
            return UNDECIDED
        return HELD


def summary(tally: Tally, ledger: list[Known]) -> str:
    """Counts, and why cases were refused or not judged."""
    order = (PASS, FAIL, KNOWN, REFUSED, INCONCLUSIVE)
    counts = ", ".join(f"{tally.verdicts[v]} {v}" for v in order if tally.verdicts[v])
    rate = tally.cases / tally.seconds if tally.seconds else 0.0
    lines = [f"engine {tally.engine} {tally.version}, aiter {tally.aiter}",
             f"cases {tally.cases}: {counts or 'none'}",
             f"steps {tally.steps['built']} built, {tally.steps['planned']} planned, "
             f"{tally.steps['replayed']} for graphs, {tally.steps['attended']} attended; "
             f"{tally.seconds:.1f} s, {rate:.1f} cases a second"]
    if tally.adapted[""]:
        parts = ", ".join(f"{name} {times}" for name, times in tally.adapted.most_common() if name)
        lines.append(f"changed for the engine: {tally.adapted['']} cases ({parts})")
    lines += tally.of_ports()
    why = {known.id: known for known in ledger}
    for name, times in sorted(tally.known.items()):
        lines.append(f"known-fail {name}: {times} cases: {why[name].why} ({why[name].link})")
    lines += [f"unexpected pass: {text}" for text in tally.unexpected]
    if tally.unattended:
        lines.append("not judged, because nothing is attended in this run: the witness of "
                     + ", ".join(tally.unattended))
    for kind, times in tally.reasons.most_common(_SHOWN):
        lines.append(f"{times} {kind} ({tally.example[kind]})")
    if tally.opinions:
        lines.append("decided differently by our core, which fails nothing:")
    for kind, times in tally.opinions.most_common(_SHOWN):
        lines.append(f"  {times} cases, such as {tally.example[kind]}")
    for block in tally.blocks.values():
        lines.append(f"FAIL {block.judgement.findings[0].property}, {block.times} cases: "
                     f"{block.judgement.findings[0].what}")
    if tally.interrupted:
        lines.append("interrupted")
    return "\n".join(lines)


def write_junit(tally: Tally, path: pathlib.Path) -> None:
    """One test a failure, one a known failure, and one for all that passed."""
    suite = ET.Element("testsuite", name=f"{tally.engine} {tally.version} aiter {tally.aiter}",
                       tests=str(len(tally.blocks) + len(tally.known) + 1),
                       failures=str(len(tally.blocks) + len(tally.unexpected)))
    whole = ET.SubElement(suite, "testcase", name="cases that passed", classname=tally.engine,
                          time=f"{tally.seconds:.1f}")
    ET.SubElement(whole, "system-out").text = f"{tally.verdicts[PASS]} of {tally.cases} cases"
    if tally.verdicts[PASS] == 0 or tally.interrupted or tally.left_out:
        why = "no case passed" if tally.verdicts[PASS] == 0 else "changed C++ of AITER did not run"
        ET.SubElement(whole, "skipped", message="interrupted" if tally.interrupted else why)
    for text in tally.unexpected:
        case = ET.SubElement(suite, "testcase", name=text, classname=tally.engine)
        ET.SubElement(case, "failure", message="unexpected pass")
    for block in tally.blocks.values():
        case = ET.SubElement(suite, "testcase", name=block.judgement.case, classname=tally.engine)
        ET.SubElement(case, "failure", message=block.judgement.findings[0].what).text = str(block)
    for name, times in sorted(tally.known.items()):
        case = ET.SubElement(suite, "testcase", name=name, classname=tally.engine)
        ET.SubElement(case, "system-out").text = f"known-fail, {times} cases"
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))
    partial.replace(path)
