"""A page in a real browser: Chromium, driven through its debugging protocol.

Nothing is installed for it but Chromium itself: the protocol is JSON over a pipe.
"""

import json
import os
import shutil
import subprocess
import tempfile
from base64 import b64decode

NAMES = ("chromium", "chromium-browser", "google-chrome")


def found():
    """The browser's program; nothing, where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. A context manager that ends the browser."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()

        # The browser reads commands from file 3 and answers on file 4.
        def connect():
            os.dup2(ours[0], 13)
            os.dup2(theirs[1], 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += [f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            [found(), *flags], preexec_fn=connect, close_fds=False, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.answers = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self.number, self.waiting, self.session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.to.close()
        self.answers.close()
        self.profile.cleanup()

    def _next(self):
        while b"\0" not in self.waiting:
            piece = os.read(self.answers.fileno(), 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.waiting += piece
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        """The answer to one command; what happens meanwhile goes to `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while (answer := self._next()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, address, width=1400, height=900, dark=False):
        """Opens a page on a screen of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]

    def run(self, script):
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def point(self, x, y):
        """Moves the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def errors(self):
        """What the console says that is wrong."""
        wrong = []
        for event in self.events:
            said = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                wrong.append(said["exceptionDetails"])
            if event.get("method") == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
                wrong.append(said["args"])
            if event.get("method") == "Log.entryAdded":
                wrong.append(said["entry"])
        return wrong

    def picture(self, path):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(b64decode(shot["data"]))
