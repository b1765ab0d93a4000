#!/usr/bin/env python3
"""One HTML file of page.html, its style and scripts, and the WebAssembly module as base64.

assemble.py MODULE VERSION PAGE
"""

from __future__ import annotations

import base64
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    """Writes the page."""
    module, version, page = sys.argv[1:]
    parts = {
        "STYLE": (HERE / "page.css").read_text(encoding="utf-8").rstrip(),
        "SCRIPT": (HERE / "page.js").read_text(encoding="utf-8").rstrip(),
        # A script element ends with the first "</script", also inside a string.
        "WORKER": json.dumps((HERE / "worker.js").read_text(encoding="utf-8")).replace(
            "</", "<\\/"
        ),
        "WASM": base64.b64encode(pathlib.Path(module).read_bytes()).decode("ascii"),
        "VERSION": version,
    }
    template = (HERE / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], template)
    pathlib.Path(page).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
