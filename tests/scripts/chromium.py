"""Headless Chromium by the DevTools protocol over a pipe: no library, no port, no network.

The messages and their names: https://chromedevtools.github.io/devtools-protocol/.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT_S = 60.0  # of one answer; a busy machine starts Chromium slowly
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # which containers and root do not allow; the pages are our own
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_ERRORS = ("error", "warning", "assert")  # what a page may not say on the console


def find_chromium() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page.

    Attributes:
        faults: exceptions, console errors and refused requests of the page.
        requested: addresses that the page asked for.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self.faults: list[str] = []
        self.requested: list[str] = []
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads from file 3 and writes to file 4.
        words = [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        files = f"3<&{to_browser} 4>&{from_browser}"
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" {files}', "bash", *words],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self) -> Self:
        (page, *_) = [
            target
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        ] or [self.call("Target.createTarget", url="about:blank")]
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self._number += 1
        message: dict[str, object] = {
            "id": self._number,
            "method": method,
            "params": parameters,
        }
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path, *, width: int, dark: bool = False) -> None:
        """Opens a file in a window of some width; returns once its scripts have run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Waits until a JavaScript expression is true."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, f"never true: {condition}"

    def press(self, key: str) -> None:
        """Presses and releases a key, such as "ArrowRight", wherever the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def _next_message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], _TIMEOUT_S)
            assert ready, "Chromium does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, f"Chromium has ended with code {self._process.poll()}"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, event: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.faults.append(str(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in _ERRORS:
            self.faults.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in _ERRORS:
            self.faults.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requested.append(event["request"]["url"])
