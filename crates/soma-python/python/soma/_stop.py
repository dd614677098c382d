"""How tasks learn, wherever they run, that they are to stop."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import signal
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._soma import Control

_LOOK = 0.1


def _somewhere() -> str:
    return str(Path(tempfile.gettempdir()) / f"soma-stop-{uuid.uuid4().hex}")


@dataclasses.dataclass(frozen=True)
class StopFile:
    """A file that says stop by being there.

    Signals reach neither the threads of a worker nor, in general, its process. A file reaches all
    workers of this machine, and others that share its temporary folder.
    """

    path: str = dataclasses.field(default_factory=_somewhere)

    def write(self) -> None:
        """Says stop, until this process ends: tasks that are still queued must see it too."""
        path = Path(self.path)
        path.touch()
        atexit.register(path.unlink, missing_ok=True)

    def is_there(self) -> bool:
        """Whether to stop."""
        return Path(self.path).exists()


@contextlib.contextmanager
def listening(stop_file: StopFile) -> Iterator[Control]:
    """A control for one task of a worker, which the file stops, and Ctrl-C where it can be heard.

    So no method of a model is broken off by Ctrl-C, and what was drawn goes home.
    """
    control = Control()
    over = threading.Event()

    def look() -> None:
        while not control.stopped and not over.wait(_LOOK):
            if stop_file.is_there():
                control.stop()

    if stop_file.is_there():
        control.stop()
    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    handled = _at_ctrl_c(lambda *_: control.stop())
    try:
        with handled if _in_main_thread() else contextlib.nullcontext():
            yield control
    finally:
        over.set()


@contextlib.contextmanager
def deaf_to_ctrl_c(wanted: bool) -> Iterator[None]:
    """Processes that are started here ignore Ctrl-C, but while they listen.

    An idle worker would die of it, and a process pool ends all its workers when one dies.
    """
    if not wanted or not _in_main_thread():
        yield
        return
    with _at_ctrl_c(signal.SIG_IGN):
        yield


def _in_main_thread() -> bool:
    """Whether this thread is the one that hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _at_ctrl_c(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
