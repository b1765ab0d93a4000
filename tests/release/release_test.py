#!/usr/bin/env python3
"""The scripts of .github/release, and that its workflow and Containerfile name what is there.

Exit: 0 that holds, 1 it does not.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / ".github/release"
sys.path.insert(0, str(RELEASE))
sys.dont_write_bytecode = True
import notes  # noqa: E402
import sbom  # noqa: E402

CMAKE = "project(mla-testbed VERSION 1.2.3 LANGUAGES CXX)\n"
CHANGES = """# Changes

## 1.2.3

Fixed

- A sentence that
  goes on. [Cases](docs/reference/cases.md), [there](https://example.org/a), [here](#fixed)

```
two
lines
```

## 1.2.30

Another.
"""
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text()
CONTAINER = (ROOT / "Containerfile").read_text()
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def refusal(call, *arguments):
    try:
        call(*arguments)
    except SystemExit as said:
        return str(said)
    return "nothing"


class Notes(unittest.TestCase):
    def test_the_section_of_the_version_is_cut_and_no_other(self):
        text = notes.notes("v1.2.3", "", CMAKE, CHANGES)
        self.assertTrue(text.startswith("Fixed\n\n- A sentence"))
        self.assertNotIn("Another.", text)
        self.assertEqual(
            notes.section(CHANGES.replace("## 1.2.3\n", "## 1.2.3 (2 May)\n"), "1.2.3")[:5], "Fixed"
        )

    def test_an_item_is_one_line_and_code_stays(self):
        text = notes.notes("v1.2.3", "", CMAKE, CHANGES)
        self.assertIn("- A sentence that goes on. [Cases]", text)
        self.assertIn("```\ntwo\nlines\n```\n", text)

    def test_relative_links_lead_to_the_tag(self):
        text = notes.notes("v1.2.3", "Some/Fork", CMAKE, CHANGES)
        self.assertIn("(https://github.com/Some/Fork/blob/v1.2.3/docs/reference/cases.md)", text)
        self.assertIn("[there](https://example.org/a), [here](#fixed)", text)

    def test_the_image_is_named_in_small_letters(self):
        self.assertIn(
            "ghcr.io/some/fork:1.2.3 ", notes.notes("v1.2.3", "Some/Fork", CMAKE, CHANGES)
        )

    def test_a_tag_of_another_version_is_refused(self):
        for tag in ("v1.2.4", "1.2.3", "v1.2.3-rc1"):
            self.assertEqual(
                refusal(notes.notes, tag, "", CMAKE, CHANGES),
                f"notes: the tag is '{tag}'; CMakeLists.txt has version 1.2.3, expected v1.2.3",
            )

    def test_a_section_that_is_missing_empty_or_too_long_is_refused(self):
        self.assertIn(
            "has 0 sections '## 1.2.4'; expected one (it has 1.2.3, 1.2.30)",
            refusal(notes.section, CHANGES, "1.2.4"),
        )
        self.assertIn("is empty", refusal(notes.section, "## 1.2.3\n\n## 1.2.2\nx\n", "1.2.3"))
        long = "## 1.2.3\n" + "x" * notes.LIMIT
        self.assertIn("GitHub takes 125000", refusal(notes.notes, "v1.2.3", "", CMAKE, long))

    def test_what_is_no_repository_is_refused(self):
        self.assertIn("the repository is 'x'", refusal(notes.notes, "v1.2.3", "x", CMAKE, CHANGES))

    def test_this_version_has_notes(self):
        version = notes.version_of((ROOT / "CMakeLists.txt").read_text())
        done = subprocess.run(
            [RELEASE / "notes.py", f"v{version}"], text=True, capture_output=True, check=True
        )
        self.assertGreater(len(done.stdout), 500)


class Sbom(unittest.TestCase):
    def document(self, *files):
        return sbom.document(
            COMMIT,
            list(files),
            (ROOT / "CMakeLists.txt").read_text(),
            (ROOT / "pyproject.toml").read_text(),
        )

    def test_each_dependency_of_cmake_is_a_package_at_its_commit(self):
        packages = {p["name"]: p for p in self.document()["packages"]}
        for name, commit in re.findall(
            r"mla_dependency\((\w+) \S+ (\w{40})\)", (ROOT / "CMakeLists.txt").read_text()
        ):
            self.assertEqual(packages[name]["versionInfo"], commit)
        self.assertEqual(packages["numpy"]["versionInfo"], ">=1.24")
        self.assertIn("scikit-build-core", packages)

    def test_libraries_for_tests_alone_are_not_linked(self):
        links = {
            (r["relationshipType"], r["relatedSpdxElement"])
            for r in self.document()["relationships"]
        }
        self.assertIn(("STATIC_LINK", "SPDXRef-rapidcheck"), links)
        self.assertIn(("STATIC_LINK", "SPDXRef-nlohmann-json"), links)
        self.assertNotIn(("STATIC_LINK", "SPDXRef-Catch2"), links)

    def test_each_end_of_a_relationship_is_an_element_and_names_are_unique(self):
        document = self.document(ROOT / "LICENSE")
        names = [e["SPDXID"] for e in [document, *document["packages"], *document["files"]]]
        self.assertEqual(len(names), len(set(names)))
        for link in document["relationships"]:
            self.assertIn(link["spdxElementId"], names)
            self.assertIn(link["relatedSpdxElement"], names)

    def test_files_have_their_checksums_and_the_document_is_reproducible(self):
        document = self.document(ROOT / "LICENSE")
        self.assertEqual(
            document["files"][0]["checksums"][1]["checksumValue"],
            hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest(),
        )
        self.assertEqual(document, self.document(ROOT / "LICENSE"))
        self.assertNotEqual(document["documentNamespace"], self.document()["documentNamespace"])

    def test_what_is_not_understood_is_refused(self):
        self.assertIn(
            "'boost' has no licence",
            refusal(sbom.libraries, f"mla_dependency(boost ${{github}}/a/b {COMMIT})"),
        )
        self.assertIn(
            "0 of 1 dependencies", refusal(sbom.libraries, "mla_dependency(xtl https://a.b/c v1)")
        )
        self.assertIn("the commit is 'main'", refusal(sbom.document, "main", [], "", ""))
        self.assertIn("there is no file", refusal(sbom.shipped, ROOT / "nowhere"))


class Finish(unittest.TestCase):
    FILES = [
        "mla_testbed-1.2.3.tar.gz",
        "mla-testbed_1.2.3_amd64.deb",
        "mla-testbed_1.2.3_arm64.deb",
        "mla-testbed-1.2.3-x86_64.tar.gz",
        "mla-testbed-1.2.3-aarch64.tar.gz",
        "mla_testbed-1.2.3-py3-none-manylinux_2_34_x86_64.whl",
        "mla_testbed-1.2.3-py3-none-manylinux_2_27_aarch64.manylinux_2_28_aarch64.whl",
    ]

    def finish(self, files):
        """Exit code, stderr and the names and checksums of SHA256SUMS."""
        with tempfile.TemporaryDirectory() as folder:
            for name in files:
                (pathlib.Path(folder) / name).write_text(name)
            done = subprocess.run(
                [RELEASE / "finish.sh", folder, "1.2.3", COMMIT],
                text=True,
                capture_output=True,
                check=False,
            )
            if done.returncode:
                return done.returncode, done.stderr.strip(), {}
            subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)
            document = json.loads(
                (pathlib.Path(folder) / "mla-testbed-1.2.3.spdx.json").read_text()
            )
            self.assertEqual(len(document["files"]), len(files))
            lines = (pathlib.Path(folder) / "SHA256SUMS").read_text().splitlines()
            return 0, "", dict(reversed(line.split("  ")) for line in lines)

    def test_all_files_and_the_sbom_have_checksums(self):
        code, said, sums = self.finish(self.FILES)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(set(sums), {*self.FILES, "mla-testbed-1.2.3.spdx.json"})
        self.assertEqual(sums[self.FILES[0]], hashlib.sha256(self.FILES[0].encode()).hexdigest())

    def test_each_file_that_is_missing_is_an_error(self):
        for left_out in self.FILES:
            code, said, _ = self.finish([name for name in self.FILES if name != left_out])
            self.assertEqual(code, 1, left_out)
            self.assertIn("there are 0 files", said)

    def test_a_file_of_another_release_is_an_error(self):
        self.assertEqual(
            self.finish([*self.FILES, "mla_testbed-1.2.2.tar.gz"])[:2],
            (1, "finish: 'mla_testbed-1.2.2.tar.gz' belongs to no release"),
        )


class Packages(unittest.TestCase):
    """packages.sh with tools that write down how they were called: the build takes half an hour."""

    TOOLS = {
        "cmake": 'echo "cmake $*" >>"$CALLS"',
        "cpack": 'mkdir -p "$4"; for file in $MADE; do : >"$4/$file"; done',
        "dpkg-query": "printf installed",
        "ninja": "exit 1",
        "c++": "exit 1",
    }

    def packages(self, made):
        """Exit code, what is in the folder afterwards, and the calls of cmake."""
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            (scratch / "bin").mkdir()
            for tool, script in self.TOOLS.items():
                (scratch / "bin" / tool).write_text(f"#!/bin/sh\n{script}\n")
                (scratch / "bin" / tool).chmod(0o755)
            environment = {
                **os.environ,
                "PATH": f"{scratch}/bin:{os.environ['PATH']}",
                "CALLS": f"{scratch}/calls",
                "MADE": made,
            }
            done = subprocess.run(
                [RELEASE / "packages.sh", scratch / "out"],
                env=environment,
                capture_output=True,
                check=False,
            )
            files = sorted(file.name for file in (scratch / "out").iterdir())
            return done.returncode, files, (scratch / "calls").read_text()

    def test_both_files_arrive_and_libraries_and_device_code_are_asked_for(self):
        code, files, calls = self.packages("a.tar.gz a.deb")
        self.assertEqual((code, files), (0, ["a.deb", "a.tar.gz"]))
        self.assertIn("-DMLA_DEPS=fetch -DHIP_BACKEND=ON", calls)

    def test_no_debian_package_is_an_error(self):
        self.assertNotEqual(self.packages("a.tar.gz")[0], 0)


class Steps(unittest.TestCase):
    def test_scripts_that_are_named_are_there_and_executable(self):
        named = set(re.findall(r"\.github/release/[\w.]+", WORKFLOW + CONTAINER))
        self.assertGreaterEqual(len(named), 4)
        for name in named:
            self.assertTrue((ROOT / name).is_file(), name)
            self.assertTrue(name.endswith(".txt") or os.access(ROOT / name, os.X_OK), name)

    def test_only_the_last_job_may_write(self):
        jobs = re.split(r"^  (\w+):\n", WORKFLOW.split("\njobs:\n")[1], flags=re.MULTILINE)
        writing = [
            name for name, text in zip(jobs[1::2], jobs[2::2], strict=True) if ": write" in text
        ]
        self.assertEqual(writing, ["publish"])
        self.assertNotIn("write", WORKFLOW.split("\njobs:\n")[0].split("permissions:")[1])

    def test_files_and_images_that_are_kept_are_those_that_are_published(self):
        kept = set(re.findall(r"^          name: (\w+)", WORKFLOW, re.MULTILINE))
        taken = set(re.findall(r"got/(\w+)", WORKFLOW))
        self.assertEqual(kept, taken)

    def test_actions_are_pinned_at_commits_that_other_workflows_have(self):
        others = "".join(
            p.read_text()
            for p in (ROOT / ".github/workflows").glob("*.yml")
            if p.name != "release.yml"
        )
        used = set(re.findall(r"uses: (\S+@\S+)", WORKFLOW))
        self.assertTrue(used)
        for action in used:
            self.assertRegex(action, r"@[0-9a-f]{40}$")
            self.assertIn(action, others)

    def test_stages_that_are_copied_mounted_or_built_alone_exist(self):
        stages = set(re.findall(r"^FROM \S+ AS (\w+)$", CONTAINER, re.MULTILINE))
        wanted = set(re.findall(r"(?:--from=|,from=)(\w+)", CONTAINER)) | set(
            re.findall(r"--target (\w+)", WORKFLOW)
        )
        self.assertEqual(stages, wanted)

    def test_the_image_builds_with_what_it_leaves_out_left_out(self):
        ignored = (ROOT / "Containerfile.dockerignore").read_text().splitlines()[1:]
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if tracked.returncode:
            self.skipTest("this is no clone")
        for name in tracked.stdout.splitlines():
            self.assertNotIn(name.split("/")[0], ignored)


if __name__ == "__main__":
    unittest.main()
