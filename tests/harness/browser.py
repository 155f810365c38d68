"""Headless Chromium, driven over two pipes (the DevTools protocol): opens a page, asks its DOM, collects what it complains of."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 300.0


class Browser:
    """One page of one browser; leave the `with` block and nothing of it is left.

    `complaints` are errors and warnings of the console, of scripts and of the page's policy; `requests` the addresses asked for.
    """

    def __init__(self) -> None:
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        assert program, "no Chromium: scripts/setup test installs it"
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._events: list[dict[str, Any]] = []
        self._calls, self._rest, self._session = 0, b"", ""
        to_it, self._to = _pipe()
        self._from, from_it = _pipe()
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        quiet = ["--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", "about:blank"]
        # it reads orders at descriptor 3 and answers at 4
        shell = f'exec "$0" "$@" 3<&{to_it} 4>&{from_it}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, program, *arguments, *quiet],
            pass_fds=(to_it, from_it),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        os.set_blocking(self._from, False)
        pages = self._call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in pages if one["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(
        self,
        address: str,
        width: int = 1280,
        *,
        height: int = 900,
        scale: float = 1,
        dark: bool = False,
        touch: bool = False,
    ) -> None:
        """Load a page in a window of this size, to the end of its scripts; its complaints and requests begin anew.

        A picture of it has `scale` times as many pixels each way.
        """
        self.complaints, self.requests, self._events = [], [], []
        size = {"width": width, "height": height, "deviceScaleFactor": scale}
        self._call("Emulation.setDeviceMetricsOverride", **size, mobile=touch)
        self._call("Emulation.setScrollbarsHidden", hidden=True)
        self.media(dark=dark)
        failed = self._call("Page.navigate", url=address).get("errorText")
        assert not failed, failed
        self._wait_for("Page.loadEventFired")
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        """Show the page as in the dark, or on paper."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", media="print" if printed else "", features=features)

    def ask(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """One key, down and up."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        same = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self._call("Input.dispatchKeyEvent", type="keyDown", **same, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", **same)

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page."""
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(b64decode(data))

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._calls += 1
        number = self._calls
        order = {"id": number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while number not in self._answers:
            self._read(deadline, method)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _wait_for(self, event: str) -> None:
        deadline = time.monotonic() + _SECONDS
        while not any(one["method"] == event for one in self._events):
            self._read(deadline, event)

    def _read(self, deadline: float, what: str) -> None:
        assert time.monotonic() < deadline, f"Chromium did not answer: {what}"
        assert self._process.poll() is None, f"Chromium ended with {self._process.returncode}: {what}"
        try:
            self._rest += os.read(self._from, 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
            return
        *whole, self._rest = self._rest.split(b"\0")
        for message in map(json.loads, whole):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._hear(message)

    def _hear(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        method, said = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(said["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])


def _pipe() -> tuple[int, int]:
    """The ends of a pipe, both above the numbers that the browser gives its own ends."""
    low = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return read, write
