"""Writes compile_commands.json with one entry a source, as tools read it.

    single_commands.py BUILD FOLDER   of a configured build folder

A build compiles the sources of a library in batches (MLA_UNITY): its own file names the batches.
"""

import json
import re
import shlex
import sys
from pathlib import Path


def alone(command: str) -> list[str]:
    """The words of a command without the precompiled header, which belongs to one compiler."""
    words = shlex.split(command)
    for i in range(len(words) - 2, -1, -1):
        if words[i] == "-include" and "cmake_pch" in words[i + 1]:
            del words[i : i + 2]
    return [word for word in words if word != "-Winvalid-pch"]


def main() -> None:
    build, folder = map(Path, sys.argv[1:])
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        batch = entry["file"]
        sources = [batch]
        if "/Unity/" in batch:
            sources = re.findall(r'^#include "(.*\.cpp)"', Path(batch).read_text(), re.MULTILINE)
        for source in sources:
            words = [source if word == batch else word for word in alone(entry["command"])]
            entries.append(
                {"directory": entry["directory"], "command": shlex.join(words), "file": source}
            )
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=2))


if __name__ == "__main__":
    main()
