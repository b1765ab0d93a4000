#!/usr/bin/env python3
"""What a release is made of, as SPDX 2.3 in JSON: from CMakeLists.txt and pyproject.toml.

    sbom.py COMMIT [FILE...]     COMMIT: 40 hexadecimal digits; FILE: what the release ships

A release is built with MLA_DEPS=fetch, so that the commits are those of the sources that went in.
The same commit and files give the same document: its time is SOURCE_DATE_EPOCH, or 0.
Exit: 0, or 1 with a sentence: a dependency without a known licence, a file that is not there.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# As their own files at the pinned commits, and PyPI's pages, say.
LICENCES = {
    "rapidcheck": "BSD-2-Clause",
    "xtl": "BSD-3-Clause",
    "xtensor": "BSD-3-Clause",
    "CLI11": "BSD-3-Clause",
    "nlohmann_json": "MIT",
    "Catch2": "BSL-1.0",
    "benchmark": "Apache-2.0",
    "numpy": "BSD-3-Clause",
    "torch": "BSD-3-Clause",
    "triton": "MIT",
    "pytest": "MIT",
    "pytest-benchmark": "BSD-2-Clause",
    "hypothesis": "MPL-2.0",
    "scikit-build-core": "Apache-2.0",
}
FOR_TESTS = {"Catch2", "benchmark"}
MAIN = "SPDXRef-mla-testbed"


def package(name: str, version: str, address: str, **more: object) -> dict[str, object]:
    if name not in LICENCES:
        raise SystemExit(f"sbom: '{name}' has no licence in LICENCES of sbom.py")
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": address,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LICENCES[name],
        "copyrightText": "NOASSERTION",
        **more,
    }


def libraries(cmake: str) -> list[tuple[dict[str, object], str]]:
    """What CMake finds or fetches, with how we depend on it."""
    found = re.findall(
        r"^\s*mla_dependency\((\w+) \$\{github\}/(\S+) ([0-9a-f]{40})\)", cmake, re.MULTILINE
    )
    written = len(re.findall(r"^\s*mla_dependency\(", cmake, re.MULTILINE))
    if len(found) != written or not found:
        raise SystemExit(
            f"sbom: {len(found)} of {written} dependencies of CMakeLists.txt were understood"
        )
    return [
        (
            package(
                name,
                commit,
                f"git+https://github.com/{path}@{commit}",
                externalRefs=[
                    {
                        "referenceCategory": "PACKAGE-MANAGER",
                        "referenceType": "purl",
                        "referenceLocator": f"pkg:github/{path.lower()}@{commit}",
                    }
                ],
            ),
            "TEST_DEPENDENCY_OF" if name in FOR_TESTS else "STATIC_LINK",
        )
        for name, path, commit in found
    ]


def requirements(pyproject: str) -> list[tuple[dict[str, object], str]]:
    """What pip installs beside the wheel or before it is built. Extras are optional."""
    # No tomllib in Python 3.10; the lists are one line each.
    lists = dict(re.findall(r'^([\w-]+) = \[(".*")\]$', pyproject, re.MULTILINE))
    kinds = {
        "requires": "BUILD_DEPENDENCY_OF",
        "dependencies": "DEPENDENCY_OF",
        "torch": "OPTIONAL_DEPENDENCY_OF",
        "triton": "OPTIONAL_DEPENDENCY_OF",
        "test": "TEST_DEPENDENCY_OF",
    }
    result: dict[str, tuple[dict[str, object], str]] = {}
    for kind, relation in kinds.items():
        for text in re.findall(r'"([^"]+)"', lists[kind]):
            name, versions = re.fullmatch(r"([\w-]+)(.*)", text).groups()  # type: ignore[union-attr]
            result.setdefault(
                name,
                (package(name, versions or "any", f"https://pypi.org/project/{name}/"), relation),
            )
    return list(result.values())


def shipped(path: pathlib.Path) -> dict[str, object]:
    if not path.is_file():
        raise SystemExit(f"sbom: there is no file '{path}'")
    content = path.read_bytes()
    return {
        "SPDXID": f"SPDXRef-file-{re.sub(r'[^A-Za-z0-9.-]', '-', path.name)}",
        "fileName": f"./{path.name}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": "NOASSERTION",
        "licenseInfoInFiles": ["NOASSERTION"],
        "copyrightText": "NOASSERTION",
    }


def document(
    commit: str, files: list[pathlib.Path], cmake: str, pyproject: str
) -> dict[str, object]:
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise SystemExit(f"sbom: the commit is '{commit}'; expected 40 hexadecimal digits")
    version = re.search(r"^project\(mla-testbed VERSION ([\d.]+)", cmake, re.MULTILINE).group(1)  # type: ignore[union-attr]
    parts = libraries(cmake) + requirements(pyproject)
    entries = sorted((shipped(file) for file in files), key=lambda entry: str(entry["fileName"]))
    names = hashlib.sha256(json.dumps([commit, entries]).encode()).hexdigest()
    time = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc
    )
    own = {
        "SPDXID": MAIN,
        "name": "mla-testbed",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"git commit {commit}",
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", MAIN)]
    for part, relation in parts:
        # SPDX has the link from the program to its library, and the others the other way.
        ends = (MAIN, str(part["SPDXID"]))
        relations.append(
            (ends[0], relation, ends[1])
            if relation == "STATIC_LINK"
            else (ends[1], relation, ends[0])
        )
    relations += [(str(entry["SPDXID"]), "GENERATED_FROM", MAIN) for entry in entries]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"mla-testbed-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/mla-testbed-{version}-{names[:32]}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: mla-testbed-sbom"],
        },
        "packages": [own, *[part for part, _ in parts]],
        "files": entries,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit("usage: sbom.py COMMIT [FILE...]")
    print(
        json.dumps(
            document(
                sys.argv[1],
                [pathlib.Path(name) for name in sys.argv[2:]],
                (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"),
                (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
            ),
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
