"""Posterior predictive releases, compared with the published one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pandas as pd


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Replicated releases: theta from the posterior, new records at theta, and new noise.

    A published value in the tails of its predictions means that the model does not fit: its records
    would not lead to such a value. The p-value is then near 0. If the model fits, p-values are
    larger than uniform ones, since the posterior has used the values.
    """

    labels: tuple[str, ...]
    """A name for each released value."""
    values: NDArray[Any]
    """The replicated values, (draw, value)."""
    published: NDArray[Any] | None
    """The published values."""

    @property
    def p_values(self) -> pd.Series:
        """For each value, twice the smaller proportion of replicated values on one side of it."""
        if self.published is None:
            raise ValueError("there are no published values to compare with")
        above = (self.values >= self.published).mean(axis=0)
        below = (self.values <= self.published).mean(axis=0)
        return pd.Series(np.minimum(1.0, 2 * np.minimum(above, below)), index=list(self.labels))

    def summary(self) -> pd.DataFrame:
        """A row for each value: the published value, its prediction, and the p-value."""
        quantiles = np.quantile(self.values, [0.05, 0.5, 0.95], axis=0)
        table = pd.DataFrame(
            {"mean": self.values.mean(axis=0), "sd": self.values.std(axis=0, ddof=1)}
            | dict(zip(("5%", "50%", "95%"), quantiles)),
            index=list(self.labels),
        )
        if self.published is not None:
            table.insert(0, "published", self.published)
            table["p_value"] = self.p_values
        return table

    def __repr__(self) -> str:
        from .posterior import shown

        count = len(self.values)
        return f"<soma.Prediction: {count} replicated releases>\n{shown(self.summary())}"
