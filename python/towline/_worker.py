"""One chain in a process of its own: what `_processes` starts."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any


class _Link:
    """The chain's exchange, and all else that goes over the socket."""

    def __init__(self, connection: Connection, stop: Any) -> None:
        self.connection, self.stop = connection, stop
        self.answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.sending = threading.Lock()
        self.shown = 0.0

    def send(self, *message: Any) -> None:
        with self.sending:
            try:
                self.connection.send(message)
            except OSError:
                os._exit(1)  # as above

    def listen(self) -> None:
        try:
            while True:
                kind, *content = self.connection.recv()
                if kind == "stop":
                    self.stop.set()
                elif kind == "halt":
                    self.stop.halt()
                else:
                    self.answers.put((kind, content[0]))
        except (EOFError, OSError):
            # Whoever began the run is gone, and with it the lock: nothing more may be written. What was stored lasts.
            os._exit(1)

    def answer(self) -> Any:
        kind, content = self.answers.get()
        if kind == "over":
            raise ConnectionError(content)
        return content

    def gather(self, mine: bytes) -> list[bytes]:
        self.send("gather", mine)
        return self.answer()

    def rest(self) -> None:
        self.send("rest")
        self.answer()

    def see(self, progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self.shown > 0.25 or progress["phase"] == "done":
            self.shown = now
            self.send("progress", progress)


def packed(error: BaseException) -> tuple[bytes | None, str, str]:
    """An exception in bytes, where it can be sent, in a line, and with its traceback in words."""
    line = f"{type(error).__name__}: {error}"
    text = "".join(traceback.format_exception(error))
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        return pickler.dumps(error), line, text
    except Exception:
        return None, line, text


def main() -> None:
    """Runs the chain that the socket tells."""
    # Ctrl-C reaches every process of a terminal; the one that began the run decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    task = connection.recv()
    sys.path[:] = task["path"]
    sys.argv[:] = [""]

    from . import _towline

    stop = _towline.Stop()
    link = _Link(connection, stop)
    try:
        model = pickle.loads(task["payload"])
        target = model._target()
    except BaseException as error:
        error.add_note("the model could not be made again in a process of its own")
        link.send("failed", packed(error))
        return
    threading.Thread(target=link.listen, daemon=True).start()
    try:
        link.send("ready")
        link.answer()
        ended = _towline.run_chain(
            target,
            task["folder"],
            task["chain"],
            link,
            stop,
            task["time_limit"],
            task["checkpoint_every"],
            link.see,
        )
        count, first = target.failures()
        link.send("ended", ended, count, None if first is None else packed(first))
    except ConnectionError as error:
        link.send("echo", str(error))
    except BaseException as error:
        link.send("failed", packed(error))
    sys.stdout.flush()
    sys.stderr.flush()
    # An evaluation that hangs would keep the process alive.
    os._exit(0)
