"""Plans: what analysts will know from a release that has not been made yet."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from . import _soma
from ._checks import how_to_run
from ._engine import run_tasks
from ._progress import Reporter, Show
from .spec import whole_text


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a plan found."""

    answer: str
    """The answer, in a sentence."""
    table: pd.DataFrame
    """A row for each setting and parameter: the mean posterior `sd`, the mean `width` of the 90%
    interval with its Monte Carlo error, `times_floor` (how many times as wide as without privacy),
    `coverage`, the root mean squared error `rmse`, and of the plug-in answer, which takes the
    released values for the truth, `plug_in_share` (how often it has one), `plug_in_width`,
    `plug_in_misses` (0.1, if it were right) and `plug_in_rmse`; `target_met`, where there is a
    target. Fits that have not settled are counted (`unsettled` of `replications`) and left out."""
    floor: pd.DataFrame
    """The same of the data themselves, without privacy, for each number of records."""
    report: dict[str, Any]
    """All figures, as `soma plan --json` prints them."""

    def __repr__(self) -> str:
        columns = ["design", "n", "budget", "name", "sd", "width", "times_floor", "coverage"]
        shown = self.table[columns].to_string(index=False, float_format="{:.3g}".format)
        return f"<soma.Plan: {self.answer}>\n{shown}"


def plan(
    spec: str | os.PathLike[str],
    *,
    epsilon: Sequence[float] | None = None,
    rho: Sequence[float] | None = None,
    n: Sequence[int] | None = None,
    target: str | Sequence[str] | None = None,
    replications: int | None = None,
    warmup: int | None = None,
    draws: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Show = True,
) -> Plan:
    """Simulates data, releases them at each setting, fits each release, and says what is learned.

    Args:
        spec: the path of a spec, or its text. The released values need not be there; its table
            `[plan]` may say what these arguments say, and designs to compare.
        epsilon, rho: total budgets to compare.
        n: numbers of records to compare.
        target: what analysts are to learn, such as `"sd(beta1) < 0.1"`; all, where there are several.
        replications: how many data sets are simulated.
        warmup, draws: of each fit.
        seed: the same seed gives the same plan.
        threads, progress: as for `soma.fit`.

    >>> soma.plan("examples/regression-n100-eps3.toml", epsilon=[1, 3, 10])  # doctest: +SKIP
    """
    how_to_run(None, threads, progress)
    if epsilon is not None and rho is not None:
        raise ValueError("epsilon, rho: there is one budget (given: both). Allowed: one of them.")
    budgets = epsilon if epsilon is not None else rho
    planner = _soma.Planner(
        text_of(spec),
        budgets=None if budgets is None else [float(one) for one in budgets],
        n=None if n is None else list(n),
        targets=[target] if isinstance(target, str) else None if target is None else list(target),
        replications=replications,
        warmup=warmup,
        draws=draws,
        seed=seed,
    )
    reporter = Reporter(progress, planner.fits, "fits")
    task = _Planned(planner, threads or os.cpu_count() or 1)
    results = run_tasks([task], None, 1, lambda control, _: reporter(control.done))
    reporter.close()
    made = results.done.get(0)
    if made is None:
        raise KeyboardInterrupt("no release was fitted yet")
    report = json.loads(made)
    settings = [_rows(one, ["design", "n", "budget", "replications", "unsettled", "target_met"]) for one in report["settings"]]
    floors = [_rows(one, ["n", "target_met"]) for one in report["floors"]]
    return Plan(
        report["answer"],
        pd.DataFrame([row for rows in settings for row in rows]),
        pd.DataFrame([row for rows in floors for row in rows]),
        report,
    )


def text_of(spec: str | os.PathLike[str]) -> str:
    """The text of a spec that is given by its path or as it is, with the release that it names."""
    if isinstance(spec, str) and "\n" in spec:
        return spec
    return whole_text(spec)


def _rows(setting: dict[str, Any], keys: list[str]) -> list[dict[str, Any]]:
    rows = []
    for quantity in setting["quantities"]:
        own = {key: value for key, value in quantity.items() if key != "plug_in"}
        said = quantity["plug_in"] or {}
        plug_in = {f"plug_in_{key}": said.get(key) for key in ("share", "width", "misses", "rmse")}
        rows.append({**{key: setting[key] for key in keys}, **own, **plug_in})
    return rows


@dataclasses.dataclass(frozen=True)
class _Planned:
    """The task of making a plan, on threads of its own."""

    planner: _soma.Planner
    threads: int

    def run(self, control: _soma.Control) -> str | None:
        return self.planner.run(self.threads, control)
