"""Validation of arguments that a spec does not have."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


_SHOWN = 200
"""The largest number of characters of a given value in a message."""


def shortened(value: Any) -> str:
    """The value for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def whole(name: str, value: Any, least: int = 1) -> int:
    """The value, if it is a whole number from `least` up."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        kind = "positive whole" if least == 1 else "whole"
        raise ValueError(
            f"{name}: must be a {kind} number (given: {shortened(value)}). "
            f"Allowed: a whole number from {least} up."
        )
    return int(value)


def how_to_run(executor: Any, threads: Any, progress: Any) -> None:
    """Checks the arguments for running tasks."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor: must be a concurrent.futures.Executor (given: {executor!r}). Allowed: a "
            "ProcessPoolExecutor, dask.distributed.Client(...).get_executor() and the like; the "
            "number of threads is threads="
        )
    if threads is not None:
        whole("threads", threads)
    if not (isinstance(progress, (bool, np.bool_)) or callable(progress)):
        raise TypeError(
            f"progress: must be True, False or a function (given: {progress!r}). Allowed: a "
            "function is called with a soma.Progress."
        )


def instance(field: str, value: Any, kind: type | tuple[type, ...], example: str) -> None:
    """Checks that the value is an instance of a class, and not the class itself."""
    if isinstance(value, kind):
        return
    if value is None:
        raise TypeError(f"{field}: is missing. Allowed: {example}.")
    given = f"the class {value.__name__}" if isinstance(value, type) else shortened(value)
    raise TypeError(f"{field}: is of the wrong kind (given: {given}). Allowed: {example}.")
