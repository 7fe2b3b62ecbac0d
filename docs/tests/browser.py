"""Headless Chromium, driven over a pipe by its debugging protocol: nothing but the standard library."""

import base64
import json
import os
import subprocess
import tempfile
import threading
import time

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
).split()


class Browser:
    """One page in a browser of its own."""

    def __init__(self, seconds=600):
        self.profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()
        # The browser reads commands from descriptor 3, and writes to 4.
        def descriptors():
            os.dup2(ours[0], 103)
            os.dup2(theirs[1], 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        command = ["chromium", *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(
            command, close_fds=False, preexec_fn=descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.of = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(theirs[0], "rb")
        self.number, self.session, self.events = 0, None, []
        # A browser that hangs is ended, and the read below comes to its end.
        self.watch = threading.Timer(seconds, self.process.kill)
        self.watch.start()
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watch.cancel()
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Calls the protocol, and keeps the events that come in between."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            reply = self.read()
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                return reply["result"]
            self.events.append(reply)

    def read(self):
        parts = bytearray()
        while True:
            byte = self.of.read1(1 << 16) if not self.left else b""
            data = self.left + byte
            if not data:
                raise RuntimeError("the browser ended")
            parts += data
            head, found, rest = bytes(parts).partition(b"\0")
            if found:
                self.left = rest
                return json.loads(head)
            self.left = b""

    left = b""

    def open(self, address):
        """Opens a page and waits for it: on a busy machine the page before may still be there for a while, and it is marked."""
        self.value("window.pageBefore = true")
        self.call("Page.navigate", url=address)
        while True:
            try:
                if self.value("window.pageBefore !== true && document.readyState === 'complete'"):
                    return
            except RuntimeError as error:
                # What was asked went away with the page.
                if "context" not in str(error) and "navigat" not in str(error):
                    raise
            time.sleep(0.02)

    def value(self, expression):
        """What an expression (or its promise) gives."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def key(self, key, code=None):
        """Presses a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **(text if kind == "keyDown" else {}))

    def size(self, width, height, dark=False):
        """The window's size, and the scheme that the visitor prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """A PNG of what is seen."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def trouble(self):
        """What a person would find in the console, and what was asked of a network."""
        found = []
        for event in self.events:
            kind, parameters = event.get("method"), event.get("params", {})
            if kind == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif kind == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))
            elif kind == "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                if not address.startswith(("file:", "blob:", "data:", "about:", "http://127.0.0.1")):
                    found.append("asked for " + address)
        return found
