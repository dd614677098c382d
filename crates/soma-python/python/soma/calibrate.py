"""Simulation-based calibration: a test that chains sample the posterior."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from typing import Literal

import numpy as np
import pandas as pd

from . import _soma
from ._checks import how_to_run, whole
from ._described import toml
from ._engine import run_tasks
from ._progress import Reporter, Show
from .fit import Kernel, Moves, problem_of
from .model import Model
from .models import BuiltinModel
from .posterior import shown
from .release import Release


HIDDEN_UPDATE = (
    "With these moves update is hardly tested: moves=\"centred\" tests it, and both must be passed."
)


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The results of a calibration.

    If all is correct, ranks are uniform and `p_value` is uniform between 0 and 1, or larger. Below
    0.001 something is wrong: the model, or chains that have not converged, or draws that are
    correlated because `thin` is too small.
    """

    draws: int
    """Draws of each chain: ranks run from 0 to this."""
    ranks: pd.DataFrame
    """The rank of the truth among the draws: a row for each replication, a column for each
    parameter and for `log_density`, the log density of the release."""
    tests: pd.DataFrame
    """P-values of tests of uniformity, a row for each column of `ranks`: `chi_squared` for any
    departure, `location` for draws that lie too high or too low, `spread` for draws that spread too
    far or not far enough."""
    p_value: float
    """The smallest p-value, corrected for their number."""
    replications: int
    """The requested number of replications; `len(ranks)` were made."""
    note: str = ""
    """What was hardly tested, and how to test it."""

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end."""
        return len(self.ranks) < self.replications

    def summary(self) -> pd.DataFrame:
        """The tests, with the mean rank relative to the largest: 0.5 if uniform."""
        return self.tests.assign(mean_rank=self.ranks.mean() / self.draws)

    def __repr__(self) -> str:
        verdict = "nothing wrong was found"
        if self.p_value < 0.001:
            verdict = "something is wrong, or thin is too small: see whether twice that helps"
        stopped = f" of {self.replications}, stopped before its end" if self.interrupted else ""
        return (
            f"<soma.Calibration: {len(self.ranks)} replications{stopped}, "
            f"p-value {self.p_value:.3g}: {verdict}>\n{shown(self.summary())}"
            + (f"\n\n{self.note}" if self.note else "")
        )


def calibrate(
    release: Release,
    model: Model | BuiltinModel,
    *,
    replications: int = 500,
    draws: int = 15,
    thin: int = 20,
    warmup: int = 200,
    kernel: Kernel | None = None,
    subset: int | None = None,
    order: Literal["random", "cyclic"] | None = None,
    moves: Moves | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Show = True,
) -> Calibration:
    """Checks a model, and the chains on it, by simulation-based calibration.

    In each replication theta is drawn from the prior, records from the model, and a release of them
    is simulated; then a chain is run on that release, and the rank of the true theta among its
    draws is noted. Ranks are uniform if the model's methods are consistent (`update` and
    `log_prior` with `sample_prior` and `propose`, `transport` with `propose`).

    Updates that use `transport` mix so well that they hide errors of `update`. So a model with
    `transport` is checked twice: with `moves="centred"`, where only `update` changes theta, and
    with the default.

    Args:
        release: releases like this one are simulated; its values do not matter. A small `n`, of
            5 to 50, finds mistakes fastest.
        model: a model of your own with the method `sample_prior`; or one that comes with SOMA.
        replications: how many releases are simulated.
        draws: draws of each chain; 15 or 19 make good bins of ranks.
        thin: iterations from one draw to the next; they should be nearly independent.
        warmup: iterations of each chain before the first draw.
        kernel, subset, order, moves, seed, executor, threads, progress: as for `soma.fit`.

    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=5,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[0.0])
    >>> model = soma.Normal(
    ...     prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    >>> soma.calibrate(release, model, replications=100).p_value > 0.001
    True
    """
    how_to_run(executor, threads, progress)
    replications = whole("replications", replications)
    options = {
        "kernel": kernel,
        "subset": subset,
        "order": order,
        "moves": moves,
        "chains": 1,
        "warmup": warmup,
        "draws": draws,
        "thin": thin,
        "seed": seed,
    }
    if isinstance(model, Model) and not model._has("sample_prior"):
        raise TypeError(
            f"{type(model).__name__} has no method sample_prior: theta is drawn from the prior"
        )
    sampler = f"sampler = {toml(options)}\n"
    problem = problem_of(release, model)
    calibrator = _soma.Calibrator(problem, problem.settings(sampler), replications)
    size = max(1, replications // 100)
    tasks = [
        _Replications(release, model, sampler, start, min(start + size, replications))
        for start in range(0, replications, size)
    ]
    reporter = Reporter(progress, replications, "replications")
    results = run_tasks(
        tasks,
        executor,
        threads,
        lambda control, done: reporter(done * size if executor else control.done),
    )
    reporter.close()
    rows = [row for number in sorted(results.done) for row in results.done[number]]
    if not rows:
        raise KeyboardInterrupt("no replication was done yet")
    p_value, quantities = calibrator.collect(problem, rows)
    names = [name for name, _, _ in quantities]
    ranks = pd.DataFrame({name: np.array(ranks) for name, ranks, _ in quantities})
    tests = pd.DataFrame(
        [tests for _, _, tests in quantities],
        index=names,
        columns=["chi_squared", "location", "spread"],
    )
    carried = isinstance(model, Model) and model._has("transport") and model._has("log_prior")
    note = HIDDEN_UPDATE if carried and moves != "centred" else ""
    return Calibration(draws, ranks, tests, p_value, replications, note)


@dataclasses.dataclass(frozen=True)
class _Replications:
    """The task of making some replications."""

    release: Release
    model: Model | BuiltinModel
    sampler: str
    start: int
    stop: int

    def run(self, control: _soma.Control) -> list[list[int]]:
        problem = problem_of(self.release, self.model)
        calibrator = _soma.Calibrator(problem, problem.settings(self.sampler), self.stop)
        rows = []
        for replication in range(self.start, self.stop):
            if control.stopped:
                break
            ranks = calibrator.replicate(problem, replication, control)
            if ranks is None:
                break
            rows.append(ranks)
            control.count()
        return rows
