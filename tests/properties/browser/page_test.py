#!/usr/bin/env python3
"""The page in the browser says and draws what the commands do, and nothing stops it.

page_test.py MLA_TESTBED BUILD

The page is built in BUILD/page, screenshots lie beside it. It is opened from a file in a headless
Chromium, as a user does.
Exit: 10 without a compiler for WebAssembly or a Chromium.
"""

from __future__ import annotations

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from chromium import Chromium, program

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUNDLES = ROOT / "fixtures" / "bundles"
MOST_BYTES = 3_000_000
THREE = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4"
MANY = "mla1:" + "_".join(f"1q1s{1000 + 37 * n}" for n in range(256)) + ";heads=16;block=16"
CASES = {
    "three requests": THREE,
    "256 requests": MANY,
    "65,536 requests": "mla1:65536q1s100;heads=16",
    "folded heads": "mla1:3q2s700;heads=128;dtype=fp8/fp8",
    "a prefill step": "mla1:1q700s700_1q300s300;heads=16"
    ";arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill",
}
#: Without a plan to draw, or refused.
UNDRAWN = {
    "a prefill step without a plan": "mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill",
    "the split route": "mla1:2q1s9;planner=none",
}
WRONG = [
    "mla1:2q1s9;heads=999",
    "mla1:",
    "hello",
    "mla1:2q1s9;haeds=8",
    "mla1:9999999q1s9",
    "é\u202e",
]
FOOT = re.compile(r"<footer>.*?</footer>\n", re.S)


class Page:
    """The open page."""

    def __init__(self, chromium: Chromium, path: pathlib.Path) -> None:
        """Opens it without a case."""
        self.chromium = chromium
        self.url = path.as_uri()
        chromium.open(self.url)
        chromium.wait_for("document.body && document.body.getAttribute('data-ready')")

    def _wait(self, before: int) -> dict[str, Any]:
        self.chromium.wait_for(
            f"asked > {before} && document.body.getAttribute('data-shown') === String(asked)"
            " || document.getElementById('status').className === 'error'"
        )
        answer: dict[str, Any] = self.chromium.value(
            "({status: document.getElementById('status').textContent,"
            " state: document.getElementById('status').className, took: Number("
            "document.body.getAttribute('data-took')), ...shown})"
        )
        return answer

    def ask(self, do: Callable[[], Any]) -> dict[str, Any]:
        """What the page shows after that."""
        before = int(
            self.chromium.value(
                "shown = null; document.getElementById('status').className = ''; asked"
            )
        )
        do()
        return self._wait(before)

    def case(self, line: str) -> dict[str, Any]:
        """As a user who types a case."""
        return self.ask(
            lambda: self.chromium.value(
                f"document.getElementById('case').value = {json.dumps(line)};"
                "document.getElementById('form').requestSubmit()"
            )
        )

    def folder(self, path: pathlib.Path) -> dict[str, Any]:
        """As a user who picks a bundle."""
        return self.ask(lambda: self.chromium.files("#folder", [path]))

    def file(self, path: pathlib.Path) -> dict[str, Any]:
        """As a user who picks a file."""
        return self.ask(lambda: self.chromium.files("#file", [path]))

    def frame(self, script: str) -> Any:
        """What a script gives in the frame of the pictures."""
        contexts = [
            e["params"]["context"]
            for e in self.chromium.events
            if e["method"] == "Runtime.executionContextCreated"
        ]
        tree = self.chromium.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
        context = [c["id"] for c in contexts if c["auxData"]["frameId"] == tree][-1]
        got = self.chromium.call(
            "Runtime.evaluate", expression=script, contextId=context, returnByValue=True
        )
        return got["result"]["value"]


class Test:
    """The checks, each a method; a failed one raises."""

    def __init__(
        self, binary: str, page: Page, scratch: pathlib.Path, pictures: pathlib.Path
    ) -> None:
        """Takes the command that says what is right, and a folder for screenshots."""
        self.binary, self.page, self.scratch, self.pictures = binary, page, scratch, pictures

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the command prints."""
        return subprocess.run([self.binary, *words], capture_output=True, text=True, check=False)

    def same_as_the_commands(self, shown: dict[str, Any], what: str, check: str) -> None:
        """The texts and the page are those of check and show."""
        said = self.command("check", check).stdout
        assert shown["check"] == said, f"{what}: check says\n{said}\nthe page\n{shown['check']}"
        drawn = FOOT.sub("", self.command("show", what, "--html", "-").stdout)
        assert FOOT.sub("", shown["page"]) == drawn, f"{what}: show draws another page"

    def test_a_case_is_planned_checked_and_drawn_as_by_the_commands(self) -> None:
        """Also where WebAssembly has 32 bits for sizes."""
        for name, line in CASES.items():
            shown = self.page.case(line)
            assert shown["state"] == "valid", f"{name}: {shown['status']}"
            assert shown["plan"] == self.command("plan", line).stdout, f"{name}: another plan"
            document = self.scratch / "plan.json"
            document.write_text(self.command("plan", line, "--json").stdout, encoding="utf-8")
            self.same_as_the_commands(shown, line, str(document))
            assert self.page.frame("document.querySelectorAll('svg').length") >= 5, name

    def test_a_case_without_a_plan_says_why(self) -> None:
        """What was decided is shown all the same."""
        for name, line in UNDRAWN.items():
            shown = self.page.case(line)
            said = self.command("show", line, "--html", "-").stderr.strip()
            assert shown["undrawn"] and said.endswith(shown["undrawn"]), (
                f"{name}: {shown['undrawn']}"
            )
            assert shown["plan"] == self.command("plan", line).stdout, name

    def test_a_wrong_case_is_the_sentence_of_the_command(self) -> None:
        """And the page goes on."""
        for line in WRONG:
            shown = self.page.case(line)
            said = self.command("plan", line).stderr.strip()
            assert shown["state"] == "error", f"{line}: {shown['status']}"
            assert said == "mla-testbed plan: " + shown["status"], f"{said}\n{shown['status']}"
        assert self.page.case(THREE)["state"] == "valid"

    def test_each_bundle_of_the_fixtures_has_the_verdict_of_check(self) -> None:
        """Broken ones among them, with the culprit."""
        broken = 0
        for folder in sorted(BUNDLES.iterdir()):
            shown = self.page.folder(folder)
            self.same_as_the_commands(shown, str(folder), str(folder))
            found = "at fault: " in shown["check"]
            assert found == ("at fault: " in shown["status"]), shown["status"]
            broken += shown["state"] == "broken"
        assert broken > 3, f"{broken} bundles are broken"

    def test_a_step_of_several_is_chosen(self) -> None:
        """By the field, and by the link."""
        line = "mla1:4q1s1k+2q1s1k_1q2s300+1q1s5;heads=8;cu=4"
        shown = self.page.case(line)
        assert shown["steps"] == 3, shown
        shown = self.page.ask(
            lambda: self.page.chromium.value(
                "var f = document.getElementById('step'); f.value = 2;"
                "f.dispatchEvent(new Event('change'))"
            )
        )
        assert shown["step"] == 2 and "step=2" in self.page.chromium.value("location.hash")

    def test_a_link_holds_the_case(self) -> None:
        """Opened anew, and changed in the address bar."""
        for line in ("mla1:2q2s300;heads=16;dtype=fp8/fp8", "mla1:2q2s301;heads=16"):
            url = f"{self.page.url}#case={line}"

            def go(url: str = url) -> None:
                self.page.chromium.open(url)

            shown = self.page.ask(go)
            assert shown["plan"] == self.command("plan", line).stdout
            assert self.page.chromium.value("document.getElementById('case').value") == line

    def hostile(self) -> list[tuple[str, pathlib.Path]]:
        """Bundles that lie about themselves."""
        out = []

        def damaged(name: str, damage: Callable[[pathlib.Path], Any]) -> None:
            folder = self.scratch / name
            shutil.copytree(BUNDLES / "rows", folder)
            damage(folder)
            out.append((name, folder))

        def manifest(folder: pathlib.Path, change: Callable[[dict[str, Any]], Any]) -> None:
            path = folder / "manifest.json"
            value = json.loads(path.read_text(encoding="utf-8"))
            change(value)
            path.write_text(json.dumps(value), encoding="utf-8")

        def no_sums(folder: pathlib.Path) -> None:
            manifest(
                folder,
                lambda m: [
                    (e.pop("fnv1a64", None), e.pop("sha256", None)) for e in m["arrays"].values()
                ],
            )

        def cut(folder: pathlib.Path) -> None:
            path = next(p for p in sorted(folder.glob("*.npy")))
            path.write_bytes(path.read_bytes()[:-3])
            no_sums(folder)

        # A number of elements that 32 bits take for another one.
        def shape(folder: pathlib.Path) -> None:
            path = next(p for p in sorted(folder.glob("*.npy")))
            data = path.read_bytes()
            count = int(re.search(rb"\((\d+),\)", data)[1]) + (1 << 32)  # type: ignore[index]
            path.write_bytes(re.sub(rb"\(\d+,\)(.*?) *\n", rb"(%d,)\1\n" % count, data, count=1))
            no_sums(folder)

        damaged("cut", cut)
        damaged("shape", shape)
        damaged("deep", lambda f: (f / "manifest.json").write_text("[" * 100_000, encoding="utf-8"))
        damaged(
            "outside",
            lambda f: manifest(
                f, lambda m: next(iter(m["arrays"].values())).update(file="../secret.npy")
            ),
        )
        damaged("absent", lambda f: next(p for p in sorted(f.glob("*.npy"))).unlink())
        damaged("many", lambda f: manifest(f, lambda m: m.update(num_cu=2**31 - 1)))
        for number in range(40):
            rng = random.Random(number)

            def flip(folder: pathlib.Path, rng: random.Random = rng) -> None:
                path = rng.choice(sorted(folder.glob("*.npy")))
                data = bytearray(path.read_bytes())
                for _ in range(3):
                    data[rng.randrange(len(data))] = rng.choice(
                        (0, 0x7F, 0x80, 0xFF, rng.randrange(256))
                    )
                path.write_bytes(bytes(data))
                no_sums(folder)

            damaged(f"flipped-{number}", flip)
        return out

    def test_a_hostile_bundle_is_answered_as_by_check(self) -> None:
        """Each gets the command's sentence or verdict, and the page goes on."""
        for name, folder in self.hostile():
            shown = self.page.folder(folder)
            told = self.command("check", str(folder))
            if shown["state"] == "error":
                said = told.stderr.replace(str(folder), name).strip()
                # Where the command names a file's path, the page names the folder's file.
                same = "mla-testbed check: " + shown["status"] == said or name == "absent"
                assert same and told.returncode == 2, f"{name}: {said}\n{shown['status']}"
            else:
                assert shown["check"] == told.stdout, f"{name}:\n{told.stdout}\n{shown['check']}"
        assert self.page.case(THREE)["state"] == "valid"

    def test_markup_in_a_bundle_is_text(self) -> None:
        """Nothing of it runs or is loaded, in the page or in the frame."""
        evil = "<img src=x onerror=alert(1)><script>top.evil=1</script></iframe>"
        path = self.scratch / "evil.json"
        plan = json.loads(self.command("plan", THREE, "--json").stdout)
        plan["name"] = evil
        path.write_text(json.dumps(plan), encoding="utf-8")
        shown = self.page.file(path)
        assert shown["state"] == "valid" and evil in shown["status"], shown["status"]
        assert self.page.frame("document.querySelectorAll('img, iframe').length") == 0
        assert self.page.frame("document.querySelector('h1').textContent").startswith("<img")
        assert (
            self.page.chromium.value(
                "document.querySelectorAll('img').length + Number('evil' in window)"
            )
            == 0
        )

    def test_nothing_is_loaded_but_the_page(self) -> None:
        """And a script cannot fetch, even if it would."""
        loaded = {
            e["params"]["request"]["url"].partition("#")[0]
            for e in self.page.chromium.events
            if e["method"] == "Network.requestWillBeSent"
        }
        foreign = {url for url in loaded if not url.startswith(("blob:", "data:", "about:"))}
        assert foreign == {self.page.url}, foreign
        thrown = [
            e["params"]
            for e in self.page.chromium.events
            if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        assert not thrown, thrown
        refused = self.page.chromium.value(
            f"fetch({json.dumps(self.page.url)}).then(() => 'loaded', () => 'refused')"
        )
        assert refused == "refused", refused

    def test_it_fits_a_desktop_and_a_phone_light_and_dark(self) -> None:
        """Nothing is wider than the screen but pictures, which scroll by themselves."""
        for width, height, scale in ((1280, 900, 1.0), (390, 844, 2.0)):
            for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")):
                self.page.chromium.look(width, height, scheme, scale)
                self.page.case(THREE)
                wide = self.page.chromium.value("document.documentElement.scrollWidth")
                inner = self.page.frame("document.documentElement.scrollWidth")
                room = self.page.frame("document.documentElement.clientWidth")
                assert wide <= width and inner <= room, f"{width}: {wide}, {inner} of {room}"
                for where in (self.page.chromium.value, self.page.frame):
                    found = where("getComputedStyle(document.body).backgroundColor")
                    assert found == paper, f"{scheme}: {found}"
                assert self.page.frame("innerHeight") > height / 3, (
                    "little is left for the pictures"
                )
                self.page.chromium.picture(self.pictures / f"{width}-{scheme}.png")

    def test_a_case_of_256_requests_is_fast(self) -> None:
        """A fifth of a second on an idle machine; a second is allowed where others run as well."""
        took = min(self.page.case(MANY)["took"] for _ in range(7))
        print(f"256 requests: planned and drawn in {took} ms")
        assert took < 1000, took


def main() -> int:
    """Builds the page and runs every check."""
    binary, build = sys.argv[1], pathlib.Path(sys.argv[2])
    browser = program()
    if browser is None:
        print("skipped: there is no chromium")
        return 10
    page = build / "page" / "page.html"
    built = subprocess.run(
        [ROOT / "properties/browser/build.sh", page, build / "page"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(built.stdout.strip().splitlines()[-1])
    if built.returncode != 0:
        return built.returncode
    assert page.stat().st_size < MOST_BYTES, f"the page has {page.stat().st_size} bytes"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        chromium = Chromium(browser, scratch / "profile")
        test = Test(binary, Page(chromium, page), scratch, page.parent)
        for name in [n for n in dir(Test) if n.startswith("test_")]:
            try:
                getattr(test, name)()
                print(f"passed: {name}")
            except (AssertionError, RuntimeError, TimeoutError, KeyError) as error:
                failed += 1
                print(f"FAILED: {name}: {str(error)[:2000]}")
        chromium.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
