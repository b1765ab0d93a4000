"""A headless Chromium, spoken to through its debugging pipe: no network, no driver."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import shutil
import subprocess
import time
from typing import Any


def program() -> str | None:
    """The browser of this system, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Chromium:
    """A browser with one page; every message from it is kept in `events`."""

    def __init__(self, browser: str, folder: pathlib.Path) -> None:
        """Starts it with a profile in `folder`."""
        read, their_write = os.pipe()
        their_read, write = os.pipe()
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{their_read} 4>&{their_write}',
                "bash",
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--disable-features=IsolateSandboxedIframes",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            pass_fds=(their_read, their_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_read)
        os.close(their_write)
        self._read, self._write = read, write
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "DOM", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._read)
        os.close(self._write)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            got = os.read(self._read, 1 << 20)
            if not got:
                raise RuntimeError("the browser ended")
            self._buffer += got
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(self._write, left) :]
        while (answer := self._message()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def value(self, script: str) -> Any:
        """What a script gives in the page."""
        got = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in got:
            raise RuntimeError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait_for(self, script: str, seconds: float = 120) -> Any:
        """The first true value of a script."""
        end = time.monotonic() + seconds
        while not (found := self.value(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"{script} is not true after {seconds:.0f} s")
            time.sleep(0.02)
        return found

    def open(self, url: str) -> None:
        """Goes there; a change of the part after # loads nothing."""
        self.call("Page.navigate", url=url)

    def files(self, selector: str, paths: list[pathlib.Path]) -> None:
        """What a user picks in a field for files; one folder in a field for folders."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def look(self, width: int, height: int, scheme: str, scale: float = 1) -> None:
        """The size of the screen, and whether it is light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 700,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def picture(self, path: pathlib.Path) -> None:
        """A PNG of the screen."""
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))
