"""Coupled chains: bounds on the distance to the posterior, and unbiased estimates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
import pandas as pd

from . import _soma
from ._checks import how_to_run, shortened, whole
from ._described import toml
from ._engine import run_tasks
from ._progress import Reporter, Show
from .fit import Kernel, problem_of
from .model import Model
from .models import BuiltinModel
from .release import Release


class Coupling:
    """The results of independent pairs of coupled chains."""

    lag: int
    """The number of iterations that one chain of a pair is ahead of the other."""
    meeting_times: NDArray[Any]
    """The meeting time of each pair; NaN if it had not met by `max_iterations`."""
    interrupted: bool
    """Whether the run was stopped before its end."""

    def __init__(
        self,
        pairs: Sequence[_soma.Pair],
        parameters: Sequence[str],
        lag: int,
        max_iterations: int,
        window: _soma.Window | None,
        interrupted: bool,
    ) -> None:
        self.lag = lag
        self.interrupted = interrupted
        self.meeting_times = np.array([np.nan if p.met is None else p.met for p in pairs])
        self._pairs = list(pairs)
        self._parameters = list(parameters)
        self._window = window
        self._meetings = _soma.Meetings(lag, max_iterations, self._pairs)

    @property
    def all_met(self) -> bool:
        """Whether all pairs met. If not, there is no valid bound."""
        return not np.isnan(self.meeting_times).any()

    def mean_delay(self) -> tuple[float, float]:
        """The mean of the meeting time minus the lag, with its standard error."""
        return self._meetings.mean_delay

    def bounds(self, points: int = 100) -> pd.DataFrame:
        """Bounds of the total variation distance of a chain to the posterior, by iteration.

        The columns are `bound` and `se`, its standard error over pairs.
        """
        rows = self._meetings.bounds(points)
        return pd.DataFrame(rows, columns=["t", "bound", "se"]).set_index("t")

    def first_under(self, level: float = 0.01, errors: float = 2.0) -> int | None:
        """The iteration from which the bound plus `errors` standard errors is below `level`.

        None if some pairs have not met.
        """
        return self._meetings.first_under(level, errors)

    def rate(self, seed: int = 1) -> tuple[float, float, float] | None:
        """The factor by which the proportion of pairs that have not met falls in one iteration.

        The estimate and the ends of a 95% interval; None if there are too few pairs.
        """
        return self._meetings.rate(seed)

    def means(self) -> pd.DataFrame:
        """Unbiased estimates of posterior means, with 95% intervals; needs a `window`.

        The last column is the variance of a plain average over that of the estimate, at equal
        cost.
        """
        if self._window is None:
            raise ValueError("means need a window: soma.couple(..., window=(k, m))")
        rows = _soma.posterior_means(self._parameters, self._pairs, self._window)
        return pd.DataFrame(rows, index=pd.Index(self._parameters, name="parameter"))

    def __repr__(self) -> str:
        met = int((~np.isnan(self.meeting_times)).sum())
        mean, error = self.mean_delay()
        return (
            f"<soma.Coupling: {met} of {len(self.meeting_times)} pairs met, "
            f"{mean:.1f} ± {error:.1f} iterations after the lag of {self.lag}>"
        )


def couple(
    release: Release,
    model: Model | BuiltinModel,
    *,
    pairs: int = 100,
    lag: int = 1,
    max_iterations: int = 100_000,
    window: tuple[int, int] | None = None,
    kernel: Kernel | None = None,
    subset: int | None = None,
    order: Literal["random", "cyclic"] | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Show = True,
) -> Coupling:
    """Runs pairs of coupled chains until they meet.

    Args:
        release: the release.
        model: a model that comes with SOMA; or one of your own with the method `log_density`.
        pairs: the number of pairs, which are independent.
        lag: how many iterations one chain is ahead of the other. Bounds are tighter for a larger
            lag, up to about the meeting time.
        max_iterations: the limit for a meeting.
        window: (k, m), the iterations that unbiased estimates average, if requested.
        kernel: as for `soma.fit`, but "auto" is "soma", since pairs have no warm-up to choose in.
        subset, order, seed, executor, threads, progress: as for `soma.fit`.

    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=10,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[0.4])
    >>> model = soma.Normal(
    ...     prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    >>> coupling = soma.couple(release, model, pairs=50, lag=20)
    >>> coupling.all_met
    True
    """
    how_to_run(executor, threads, progress)
    pairs, lag = whole("pairs", pairs), whole("lag", lag)
    max_iterations = whole("max_iterations", max_iterations)
    options = {"kernel": kernel, "subset": subset, "order": order, "seed": seed}
    sampler = f"sampler = {toml(options)}\n"
    problem = problem_of(release, model)
    problem.settings(sampler)
    native = _window(window)
    if isinstance(model, Model) and not model._has("log_density"):
        raise TypeError(f"{type(model).__name__} has no method log_density: couplings need it")
    tasks = [
        _Pair(release, model, sampler, lag, max_iterations, window, index)
        for index in range(pairs)
    ]
    reporter = Reporter(progress, pairs, "pairs")
    results = run_tasks(tasks, executor, threads, lambda _, done: reporter(done))
    reporter.close()
    runs = [results.done[index] for index in sorted(results.done)]
    runs = [run for run in runs if run is not None]
    if not runs:
        raise KeyboardInterrupt("no pair was done yet")
    return Coupling(runs, problem.outputs, lag, max_iterations, native, results.interrupted)


def _window(window: tuple[int, int] | None) -> _soma.Window | None:
    if window is None:
        return None
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise ValueError(
            f"window: must be (k, m) (given: {shortened(window)}). Allowed: two iterations."
        )
    k, m = window
    return _soma.Window(whole("window[0]", k, 0), whole("window[1]", m, 0))


@dataclasses.dataclass(frozen=True)
class _Pair:
    """The task of running one pair."""

    release: Release
    model: Model | BuiltinModel
    sampler: str
    lag: int
    max_iterations: int
    window: tuple[int, int] | None
    index: int

    def run(self, control: _soma.Control) -> _soma.Pair | None:
        problem = problem_of(self.release, self.model)
        settings = problem.settings(self.sampler)
        window = _window(self.window)
        return _soma.Pair.run(
            problem, settings, self.lag, self.max_iterations, window, self.index, control
        )
