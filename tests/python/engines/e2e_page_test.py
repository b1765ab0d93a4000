"""The page of what whole engines came to."""

import html.parser
import json
import re

import pytest

pytest.importorskip("torch", reason="scenarios need torch, which is not installed")

from mla_testbed.engines.__main__ import main  # noqa: E402
from mla_testbed.engines.e2e import page  # noqa: E402
from mla_testbed.engines.e2e.judged import Result  # noqa: E402
from mla_testbed.ported import Ported  # noqa: E402

SCENARIO = "e2e1:heads=8;layers=1"


def failed():
    """A result with everything that a page shows."""
    result = Result(
        SCENARIO, "vllm", "0.33.0", "abc", equal=3, tokens=4, margin=0.31, regret=1.5, allowed=0.12,
        worst={"query": 0.41, "attention": 7.25}, steps=6, replayed=5, cached=17, lists=4, drafts=9,
        accepted=7, drafted=8, idle=[2, 3], stand_ins={"rms_norm": 14}, seconds={"start": 11.0},
        bundle="there", own=["AITER's own C++ ran: module_x"],
        ported=Ported("e404", ("module_y",)).as_json(),
        fault={"step": 2, "request": 1, "position": 31, "layer": 0, "tensor": "attention",
               "off": 1.31, "bound": 0.18, "what": ""},
        answers=[{"request": 0, "prompt": 3, "expected": [7, 8], "given": [7, 9]},
                 {"request": 1, "prompt": 40, "expected": [1, 2], "given": [1, 2]}])
    result.found("3 of 4 tokens are those of float32")
    return result


class Read(html.parser.HTMLParser):
    """The words of a page, what its elements open and close, and what they ask for."""

    EMPTY = ("meta",)

    def __init__(self, text):
        super().__init__()
        self.words, self.open, self.asked, self.names = [], [], [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.asked += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(results, summary="scenarios 1: 1 fail", options="--engine vllm"):
    """A page's text, and its parser."""
    made = page.text(results, summary, options)
    found = Read(made)
    assert found.open == []
    return re.sub(r"\s+", " ", " ".join(found.words)), found


@pytest.mark.parametrize("part", [
    "mla-testbed-engines e2e: scenarios 1: 1 fail", f"FAIL {SCENARIO}",
    "3 of 4 tokens are those of float32", "vllm 0.33.0", "AITER abc",
    "arch gfx942, model mla, heads 8", "3 of 4 equal (each ahead by 0.31)", "1.50 of 0.12",
    "6, 5 from graphs, 4 with lists judged", "cached tokens 17",
    "7 of 9 accepted, 8 held against their model", "2, 3", "query 41%", "attention 725%",
    "rms_norm 14", "start 11", "bundle there", "AITER's own C++ ran: module_x",
    "ports of AITER e404 ran: module_y",
    f"mla-testbed-engines e2e '{SCENARIO}' --engine vllm"])
def test_a_page_has_what_a_scenario_came_to(part):
    text, _ = read([failed()])
    assert part in re.sub(r" +", " ", text)


def test_a_page_names_step_layer_request_and_tensor_of_the_first_fault():
    text, _ = read([failed()])
    assert ("step 2 layer 0 request 1 position 31 tensor attention off 1.31 bound 0.18"
            in re.sub(r" +", " ", text))


def test_a_token_that_float32_does_not_choose_is_marked_with_that_one():
    made = page.text([failed()], "", "")
    assert "<th>0</th><td>3</td><td>7 <span class=\"bad\">9 (8)</span></td>" in made
    assert "<th>1</th><td>40</td><td>1 2</td>" in made


def test_a_fault_of_the_logits_has_no_layer():
    result = failed()
    result.fault.update(layer=None, tensor="logits")
    text, _ = read([result])
    assert "step 2 request 1" in re.sub(r" +", " ", text)


@pytest.mark.parametrize("field", ["engine", "version", "aiter", "bundle"])
def test_what_engines_say_is_text_and_nothing_else(field):
    wrong = "<script>alert(1)</script>\"'&"
    result = failed()
    setattr(result, field, wrong)
    result.found(wrong)
    result.known.append(wrong)
    result.own.append(wrong)
    result.stand_ins[wrong] = 1
    result.worst[wrong] = 0.5
    result.seconds[wrong] = 1.0
    result.fault["what"] = wrong
    text, found = read([result], wrong, wrong)
    assert "script" not in found.names
    assert text.count(wrong) == 10


def test_a_page_needs_no_other_file():
    _, found = read([failed(), Result(SCENARIO, verdict="inconclusive", findings=["why"])])
    assert found.asked == []


@pytest.mark.parametrize(("verdict", "look"), [
    ("pass", "good"), ("fail", "bad"), ("inconclusive", "open"), ("known-fail", "open")])
def test_a_verdict_has_its_colour(verdict, look):
    made = page.text([Result(SCENARIO, verdict=verdict)], "", "")
    assert f"<h2><span class=\"{look}\">{verdict.upper()}</span> {SCENARIO}" in made


def python(tmp_path, body):
    """An interpreter that leaves results."""
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return str(path)


def leaves(result):
    """The shell's words for it."""
    return f"cat > \"$5\" <<'E'\n{json.dumps(vars(result))}\nE\n"


def test_the_command_writes_a_page_of_all_scenarios(tmp_path, capsys):
    made = tmp_path / "page.html"
    assert main(["e2e", "bf16", "heads8", "--engine", "vllm", "--html", str(made), "--python",
                 python(tmp_path, leaves(failed()))]) == 1
    text, _ = read([failed(), failed()])
    found = made.read_text(encoding="utf-8")
    assert found.count(f"<span class=\"bad\">FAIL</span> {SCENARIO}") == 2
    assert "scenarios 2: 0 pass, 2 fail, 0 known, 0 inconclusive" in found
    assert list(tmp_path.glob("*.part")) == []


def test_a_run_that_is_interrupted_leaves_a_page_of_what_it_has(tmp_path, capsys):
    made, seen = tmp_path / "page.html", tmp_path / "seen"
    body = f"if [ -e {seen} ]; then kill -TERM $PPID; sleep 30; fi\ntouch {seen}\n"
    assert main(["e2e", "bf16", "heads8", "block1", "--engine", "vllm", "--html", str(made),
                 "--python", python(tmp_path, body + leaves(Result(SCENARIO, "vllm")))]) == 4
    assert "interrupted" in capsys.readouterr().err
    found = made.read_text(encoding="utf-8")
    assert "scenarios 1: 1 pass, 0 fail" in found
    assert "inconclusive; interrupted before 2 more; " in found


@pytest.mark.parametrize("where", [".", "nowhere/page.html"])
def test_a_page_that_cannot_be_written_is_refused_before_the_run(tmp_path, capsys, where):
    ran = tmp_path / "ran"
    assert main(["e2e", "bf16", "--engine", "vllm", "--html", str(tmp_path / where), "--python",
                 python(tmp_path, f"touch {ran}\n")]) == 2
    assert "cannot be written; expected a file" in capsys.readouterr().err
    assert not ran.exists()


def test_a_page_and_objects_are_two_files(tmp_path, capsys):
    made = tmp_path / "found"
    assert main(["e2e", "bf16", "--engine", "vllm", "--html", str(made), "--json",
                 str(tmp_path / "." / "found"), "--python", "python3"]) == 2
    assert "--html and --json both name" in capsys.readouterr().err


def test_modules_are_handed_on_and_repeated(tmp_path, capsys):
    said = tmp_path / "said"
    asked = f"echo \"$@\" > {said}\n"
    assert main(["e2e", "bf16", "--engine", "vllm", "--modules", "own", "--python",
                 python(tmp_path, asked + leaves(failed()))]) == 1
    assert said.read_text().split()[-1] == "--modules=own"
    out = capsys.readouterr().out
    assert f"REPRO: mla-testbed-engines e2e '{SCENARIO}' --engine vllm --modules own" in out
    assert "  AITER's own C++ ran: module_x\n" in out


def test_a_run_without_aiter_is_repeated_without_it(tmp_path, capsys):
    said = tmp_path / "said"
    assert main(["e2e", "bf16", "--engine", "vllm", "--without-aiter", "--python",
                 python(tmp_path, f"echo \"$@\" > {said}\n" + leaves(failed()))]) == 1
    assert said.read_text().split()[-1] == "--modules=none"
    assert f"'{SCENARIO}' --engine vllm --without-aiter\n" in capsys.readouterr().out
