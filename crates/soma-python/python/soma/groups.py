"""Many tables of noisy counts of one kind, such as those of regions."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pandas as pd

from . import _soma
from ._engine import processors, run_tasks
from ._progress import Reporter, Show
from .importers import _csv


@dataclasses.dataclass(frozen=True)
class GroupFits:
    """What came of the groups."""

    results: pd.DataFrame
    """One row for each parameter of each group: group, parameter, mean, ..., verdict and reasons."""
    shared: pd.DataFrame
    """The common prior of pooled groups, in the same columns; empty, if they were not pooled."""

    @property
    def trusted(self) -> bool:
        """Whether every group, and the common prior, can be trusted."""
        verdicts = [*self.results["verdict"], *self.shared["verdict"]]
        return bool(verdicts) and all(verdict == "trusted" for verdict in verdicts)

    def __getitem__(self, group: Any) -> pd.DataFrame:
        """The rows of a group, by parameter."""
        rows = self.results[self.results["group"] == str(group)]
        if rows.empty:
            raise KeyError(group)
        return rows.drop(columns="group").set_index("parameter")

    def __repr__(self) -> str:
        each = self.results.drop_duplicates("group")
        good = int((each["verdict"] == "trusted").sum())
        return f"<soma.GroupFits: {good} of {len(each)} groups are trusted>"


def fit_groups(
    table: Any,
    *,
    noise: str,
    scale: float | None = None,
    variance: float | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    neighbours: str = "add-remove",
    clamp_at_zero: bool = False,
    threshold: float | None = None,
    pool: bool = False,
    alpha: float = 1.0,
    concentration: float = 30.0,
    concentration_sd: float = 2.0,
    chains: int = 4,
    warmup: int = 1000,
    draws: int = 1000,
    thin: int = 1,
    seed: int = 1,
    threads: int | None = None,
    progress: Show = True,
) -> GroupFits:
    """Fits many tables of noisy counts: each by itself, or all with a common prior.

    Args:
        table: a DataFrame, or the path of a CSV or Parquet file, with the columns group, cell and
            value; scale or variance, unless all counts have the same; n, where it is public. A
            value that is not shown is `"suppressed"`.
        noise: the kind of noise, such as `"discrete-laplace"`.
        scale, variance, epsilon, rho: how large the noise of all counts is, where the table has no
            column of it.
        neighbours: for `epsilon` and `rho`: `"replace"` or `"add-remove"`.
        clamp_at_zero: whether noisy counts below zero were published as 0.
        threshold: noisy counts up to it are not shown; a column threshold has it for each count.
        pool: whether to learn a common prior of the shares: Dirichlet, with the concentration and
            the mean shares drawn with the rest.
        alpha: the Dirichlet parameter of each cell, of groups that are not pooled.
        concentration, concentration_sd: the median of the concentration, which is log-normal, and
            the standard deviation of its logarithm.
        chains, warmup, draws, thin, seed: as for `fit`.
        threads: how many threads; all processors, if left out.
        progress: whether progress is shown, or what is called with it.

    >>> import pandas
    >>> table = pandas.DataFrame({
    ...     "group": ["north", "north", "south", "south"],
    ...     "cell": ["a", "b", "a", "b"],
    ...     "value": [12, 3, 5, 9],
    ... })
    >>> fits = soma.fit_groups(table, noise="discrete-laplace", scale=2.0, progress=False)
    >>> fits
    <soma.GroupFits: 2 of 2 groups are trusted>
    >>> bool(0.7 < fits["north"].loc["p[a]", "mean"] < 0.8)
    True
    """
    is_path = isinstance(table, (str, os.PathLike))
    groups = _soma.Groups(
        os.fspath(table) if is_path else "table",
        None if is_path else _csv(table),
        noise=noise,
        scale=scale,
        variance=variance,
        epsilon=epsilon,
        rho=rho,
        neighbours=neighbours,
        clamp_at_zero=clamp_at_zero,
        threshold=threshold,
        pool=(concentration, concentration_sd) if pool else None,
        alpha=alpha,
        chains=chains,
        warmup=warmup,
        draws=draws,
        thin=thin,
        seed=seed,
    )
    reporter = Reporter(progress, groups.iterations, "iterations")
    task = _Fit(groups, threads or processors())
    results = run_tasks([task], None, 1, lambda control, _: reporter(control.done))
    reporter.close()
    rows = results.done.get(0) or []
    if not rows:
        raise KeyboardInterrupt("there was no complete group yet")
    names = ["group", "parameter", *groups.columns(), "chains", "draws", "verdict", "reasons"]
    flat = [(group, parameter, *numbers, *rest) for group, parameter, numbers, *rest in rows]
    frame = pd.DataFrame(flat, columns=names)
    of_all = frame["group"] == ""
    shared = frame[of_all].drop(columns="group").reset_index(drop=True)
    return GroupFits(frame[~of_all].reset_index(drop=True), shared)


@dataclasses.dataclass(frozen=True)
class _Fit:
    """The task: all groups, on threads of the compiled half."""

    groups: _soma.Groups
    threads: int

    def run(self, control: _soma.Control) -> Any:
        return self.groups.fit(self.threads, control)
