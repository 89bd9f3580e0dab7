"""A headless Chromium that tests talk to over two pipes (its DevTools protocol): no package, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SECONDS = 120.0


class BrowserError(Exception):
    """What the page or the browser complained of."""


class Page:
    """One page; what it logs or fails at is kept in `complaints`, every address that it asks for in `requests`."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out, self._next, self._rest = into, out, 0, b""
        self._session = ""
        self._events: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def begin(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def end(self) -> None:
        """Ask the browser to end: it takes its helpers with it."""
        self._session = ""
        with contextlib.suppress(BrowserError, OSError):
            self.call("Browser.close")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def open(self, path: Path, *, at: str = "", width: int = 1280, height: int = 900) -> None:
        """Load a file and wait until its script has run."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._events.clear()
        # The same file at another hash would be no new page.
        self.call("Page.navigate", url="about:blank")
        self._wait("Page.loadEventFired")
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri() + at)
        self._wait("Page.loadEventFired")
        self.settle()

    def settle(self) -> None:
        """Wait for what the page does in its next frames."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))"
        )

    def run(self, script: str) -> Any:
        """The value of an expression, a promise's once it is there."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def texts(self, selector: str) -> list[str]:
        """What the elements say, as it can be seen."""
        return list(self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)"))

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.settle()

    def key(self, name: str, code: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)
        self.settle()

    def media(self, *, scheme: str = "light", media: str = "") -> None:
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def picture(self, path: Path, *, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def _wait(self, method: str) -> None:
        while not any(event.get("method") == method for event in self._events):
            self._note(self._read())

    def _note(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        method, params = event.get("method", ""), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str([one.get("value") for one in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + _SECONDS
        while b"\0" not in self._rest:
            if not select.select([self._out], [], [], max(0.0, until - time.monotonic()))[0]:
                raise BrowserError("the browser says nothing")
            piece = os.read(self._out, 1 << 20)
            if not piece:
                raise BrowserError("the browser has ended")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A page of a browser that is gone afterwards, its processes and all.

    The browser reads commands at descriptor 3 and answers at 4, whatever numbers the pipes have here.
    """
    assert CHROMIUM is not None
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
    script = f'exec 3<&{their_in} 4>&{their_out} && exec "$0" "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, CHROMIUM, *quiet, "--remote-debugging-pipe", "about:blank"],
        pass_fds=(their_in, their_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    os.close(their_in)
    os.close(their_out)
    page = Page(our_out, our_in)
    try:
        page.begin()
        yield page
    finally:
        page.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(our_out)
        os.close(our_in)
