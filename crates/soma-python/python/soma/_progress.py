"""Progress of a run, in terminals, in notebooks, and for a user's own display."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    done: int
    """The completed amount, in units of `unit`."""
    total: int
    """The total amount."""
    unit: str
    """The unit, such as "iterations"."""
    seconds: float
    """The elapsed time."""

    def __str__(self) -> str:
        share = self.done / self.total if self.total else 1.0
        bar = "━" * int(24 * share)
        left = ""
        if 0 < self.done < self.total:
            left = f", {_clock(self.seconds * (self.total - self.done) / self.done)} left"
        return (
            f"{bar:<24} {100 * share:3.0f}%  {self.done:,} of {self.total:,} {self.unit}  "
            f"{_clock(self.seconds)}{left}"
        )


Show = bool | Callable[[Progress], Any]
"""Whether progress is shown; or a function that is called with it several times a second."""


class Reporter:
    """Shows the progress of one run, or passes it to a function."""

    def __init__(self, show: Show, total: int, unit: str) -> None:
        self.total = total
        self.unit = unit
        self.start = time.monotonic()
        self.display = show if callable(show) else _display() if show else None

    def __call__(self, done: int) -> None:
        if self.display is not None:
            seconds = time.monotonic() - self.start
            self.display(Progress(min(done, self.total), self.total, self.unit, seconds))

    def close(self) -> None:
        if isinstance(self.display, _Terminal):
            self.display.close()


class _Terminal:
    """One line that is overwritten."""

    def __call__(self, progress: Progress) -> None:
        sys.stderr.write(f"\r{progress}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Notebook:
    """One output of a cell that is overwritten."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.last = -1.0

    def __call__(self, progress: Progress) -> None:
        display: Any = importlib.import_module("IPython.display")
        whole = progress.done == progress.total
        if progress.seconds - self.last < 0.5 and not whole:
            return
        self.last = progress.seconds
        shown = display.Pretty(str(progress))
        if self.handle is None:
            self.handle = display.display(shown, display_id=True)
        else:
            self.handle.update(shown)


def _display() -> Callable[[Progress], Any] | None:
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
            return _Notebook()
    return _Terminal() if sys.stderr.isatty() else None


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
