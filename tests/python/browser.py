"""A headless Chromium, spoken to over a pipe in the DevTools protocol: what a page says, asks for, and looks like."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


class Browser:
    """One page. `errors` has what its console reported, `requests` the addresses that it asked for."""

    def __init__(self, width: int = 1200, height: int = 900) -> None:
        assert PROGRAM is not None
        self._profile = tempfile.mkdtemp(prefix="airwatt-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", f"--user-data-dir={self._profile}",
            f"--window-size={width},{height}", "about:blank",
        ]  # fmt: skip
        # The browser reads from descriptor 3 and writes to 4, numbers that the pipes themselves may have here.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            [PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            pass_fds=(3, 4), preexec_fn=lambda: [os.dup2(end, number) for number, end in enumerate(ends, 3)],
        )  # fmt: skip
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self._waiting, self._number, self._session = b"", 0, None
        self.errors: list[str] = []
        self.requests: list[str] = []
        (page,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: object) -> dict:
        """Calls a method of the protocol; events that come meanwhile are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _message(self, timeout: float = 60.0) -> dict:
        while b"\0" not in self._waiting:
            assert select.select([self._read], [], [], timeout)[0], "the browser does not answer"
            self._waiting += os.read(self._read, 1 << 20)
        text, _, self._waiting = self._waiting.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, event: dict) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(event["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.errors.append(str([one.get("value") for one in event["args"]]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.errors.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def open(self, url: str, timeout: float = 60.0) -> float:
        """Opens a page and waits until it says that it is ready; returns its time for that in seconds."""
        self.call("Page.navigate", url=url)
        return self.wait("Number(document.documentElement?.dataset?.ready ?? 0)", timeout) / 1000

    def wait(self, expression: str, timeout: float = 60.0):
        """Waits until an expression is true; returns its value."""
        end = time.monotonic() + timeout
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"{expression} has not become true; {self.errors}"
            time.sleep(0.05)
        return value

    def evaluate(self, expression: str):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Presses a key."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    def screenshot(self, path: str, *, width: int = 1200, until: str | None = None, dark: bool = False) -> None:
        """Writes a picture of the page at a width, down to the end of an element or of the page."""
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=theme)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        time.sleep(0.5)
        height = self.evaluate(
            f"document.querySelector({until or 'body'!r}).getBoundingClientRect().bottom + scrollY + 8"
        )
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])
