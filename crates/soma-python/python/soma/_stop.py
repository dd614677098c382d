"""Stopping of tasks in this and other processes."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import signal
import tempfile
import threading
import uuid
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from ._soma import Control

_LOOK = 0.1


def _somewhere() -> str:
    return str(Path(tempfile.gettempdir()) / f"soma-stop-{uuid.uuid4().hex}")


@dataclasses.dataclass(frozen=True)
class StopFile:
    """A file whose existence means stop.

    Signals reach neither the threads of a worker nor, in general, its process. A file reaches all
    workers of this machine, and others that share its temporary folder.
    """

    path: str = dataclasses.field(default_factory=_somewhere)

    def write(self) -> None:
        """Creates the file, until this process ends, so that queued tasks see it too."""
        path = Path(self.path)
        path.touch()
        atexit.register(path.unlink, missing_ok=True)

    def is_there(self) -> bool:
        """Whether to stop."""
        return Path(self.path).exists()


@contextlib.contextmanager
def listening(stop_file: StopFile) -> Iterator[Control]:
    """A control for one task of a worker, stopped by the file, and by Ctrl-C if it is received.

    So Ctrl-C does not interrupt a method of a model, and the draws so far are returned.
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
    """Processes started here ignore Ctrl-C from their first instruction on.

    Ctrl-C would kill an idle worker, or one that is still importing, and a process pool ends all
    its workers when one dies. A blocked signal is inherited by a forked process and by a started
    program. The workers are stopped by the `StopFile` instead.

    A Ctrl-C in the meantime is handled here afterwards.
    """
    if not wanted:
        yield
        return
    heard: list[int] = []
    try:
        with contextlib.ExitStack() as stack:
            if _in_main_thread():
                # Another thread may take the signal, and Python then calls the handler here.
                stack.enter_context(_at_ctrl_c(lambda number, _: heard.append(number)))
            stack.enter_context(_blocked())
            yield
    finally:
        if heard:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Blocks Ctrl-C in this thread and in processes started from it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # When this process starts it, Python 3.11 unblocks Ctrl-C: so it is started before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_main_thread() -> bool:
    """Whether this thread receives signals."""
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _at_ctrl_c(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
