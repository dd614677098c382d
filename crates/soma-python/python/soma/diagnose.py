"""Whether draws can be trusted."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pandas as pd

from .posterior import Posterior, shown, verdict
from .stored import open


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Whether draws can be trusted, and why."""

    table: pd.DataFrame
    """`Posterior.summary()`: one row for each parameter."""
    trusted: bool
    """Whether the chains moved and agree, and every parameter has enough effective draws."""
    reason: str
    """The verdict in words, and what to do if it is not good."""
    reasons: tuple[str, ...] = ()
    """The reasons against the draws; empty if they can be trusted."""
    advice: dict[str, int] = dataclasses.field(default_factory=dict)
    """Arguments of `soma.fit` to try otherwise, where a longer run may help: the numbers that
    `soma fit` names."""

    def __repr__(self) -> str:
        return f"{shown(self.table)}\n\n{self.reason}"


def diagnose(source: Any) -> Diagnosis:
    """The verdict whether draws can be trusted.

    The thresholds are those of Vehtari et al. (2021), as on the command line: R-hat below 1.01, and
    100 effective draws for each chain, in the bulk and in the tails. Draws that hardly moved, an
    acceptance rate near 0 and a single chain are reasons against them, too; and so is a sharp
    release of few records whose posterior may be in pieces, where the chains may not have gone from
    one to another: then the reason says that it cannot be known.

    Args:
        source: a `Posterior`; the folder of a stored run; an Arrow table, see
            `Posterior.from_arrow`; or an array of shape (chain, draw) or (chain, draw, parameter).

    >>> soma.diagnose(posterior).trusted
    True
    """
    posterior = _posterior(source)
    trusted, reason, reasons, advice = verdict(posterior)
    return Diagnosis(posterior.summary(), trusted, reason, reasons, advice)


def _posterior(source: Any) -> Posterior:
    if isinstance(source, Posterior):
        return source
    if isinstance(source, (str, os.PathLike)):
        return open(source)
    if hasattr(source, "__arrow_c_stream__"):
        return Posterior.from_arrow(source)
    draws = np.asarray(source, dtype=float)
    if draws.ndim == 2:
        draws = draws[:, :, None]
    if draws.ndim != 3 or 0 in draws.shape:
        raise ValueError(
            f"source: an array of shape {np.shape(source)} does not hold draws. "
            "Allowed: (chain, draw) or (chain, draw, parameter)."
        )
    unknown = np.full(draws.shape[:2], np.nan)
    names = [f"x{k + 1}" for k in range(draws.shape[2])]
    columns = np.ascontiguousarray(np.moveaxis(draws, -1, 0))
    return Posterior(columns, names, unknown, unknown.copy())
