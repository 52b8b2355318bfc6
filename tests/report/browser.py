"""A headless browser, driven over a pipe by the DevTools protocol: what a page logs, asks for and
shows.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser reads commands from descriptor 3 and answers on 4.
START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
PATIENCE = 60.0  # seconds for one answer
# What a folded part shows changes with the frame after the one that a change of media asks for.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def _above(descriptor: int) -> int:
    """The same descriptor with a number that is neither 3 nor 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One tab. ``messages`` (console, exceptions, refusals) and ``requests`` are of the page that
    is open.
    """

    def __init__(self, program: str, profile: Path) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        theirs_in, self._out = (_above(d) for d in os.pipe())
        self._in, theirs_out = (_above(d) for d in os.pipe())
        command = [
            sys.executable,
            "-c",
            START,
            str(theirs_in),
            str(theirs_out),
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
        ]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def open(
        self,
        page: Path,
        *,
        width: int = 1200,
        dark: bool = False,
        media: str = "",
        unfold: bool = True,
    ) -> None:
        """Load a file in a window of this width, and wait until it is there; its sections are
        opened.
        """
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.show_as(dark=dark, media=media)
        for seen in (self.messages, self.requests, self._events):
            seen.clear()
        self.call("Page.navigate", url=page.as_uri())
        while "Page.loadEventFired" not in self._events:
            self._next()
        if unfold:
            self.run("document.querySelectorAll('.part').forEach(part => part.open = true)")

    def show_as(self, *, dark: bool = False, media: str = "") -> None:
        """Light or dark, on a screen or (``print``) on paper; once the page has been drawn so."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.run(DRAWN)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, element: str) -> None:
        """A real click in the middle of what the expression gives."""
        at = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
            f" return [b.left + b.width / 2, b.top + b.height / 2]; }})({element})"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1
            )

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def close(self) -> None:
        """End the browser."""
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(10)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._in)
            os.close(self._out)

    def _next(self) -> dict[str, Any]:
        """The next answer or event; events are noted."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._in, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError(
                    "the browser ended"
                    if ready
                    else f"the browser said nothing for {PATIENCE:.0f} s"
                )
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        if "method" in answer:
            self._note(answer["method"], answer["params"])
        return answer

    def _note(self, event: str, about: dict[str, Any]) -> None:
        self._events.append(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            self.messages.append(f"console: {about['args']}")
        elif event == "Runtime.exceptionThrown":
            self.messages.append(f"exception: {about['exceptionDetails']}")
        elif event == "Log.entryAdded":
            self.messages.append(f"{about['entry']['level']}: {about['entry']['text']}")
