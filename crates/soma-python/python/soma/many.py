"""Many fits in one call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import _soma
from ._checks import how_to_run, shortened
from ._described import toml
from ._engine import run_tasks
from ._progress import Reporter, Show
from .fit import fit_here, problem_of
from .model import Model
from .models import BuiltinModel
from .posterior import Posterior, verdict
from .release import Release
from .spec import Spec, read_spec

Problem = Spec | tuple[Release, Model | BuiltinModel]
Specs = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Fits(Mapping[str, Posterior]):
    """The results of many fits: a mapping from names to posteriors, with a table of all results."""

    results: pd.DataFrame
    """One row for each parameter of each fit, with the columns of `results.parquet` that
    `soma fit` writes: name, parameter, mean, ..., verdict and reasons."""
    posteriors: dict[str, Posterior]
    """The posteriors; empty with `keep_draws=False`."""
    errors: dict[str, Exception]
    """The exceptions of fits without a posterior."""

    @property
    def trusted(self) -> bool:
        """Whether every fit can be trusted."""
        return bool((self.results["verdict"] == "trusted").all())

    def __getitem__(self, name: str) -> Posterior:
        return self.posteriors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.posteriors)

    def __len__(self) -> int:
        return len(self.posteriors)

    def __repr__(self) -> str:
        each = self.results.drop_duplicates("name")
        good = int((each["verdict"] == "trusted").sum())
        return f"<soma.Fits: {good} of {len(each)} fits are trusted>"


def fit_many(
    fits: Mapping[str, Problem] | Specs | Iterable[Specs],
    *,
    keep_draws: bool = True,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Show = True,
    **options: Any,
) -> Fits:
    """Draws from many posteriors: each fit is one task, and the tasks share one pool.

    Args:
        fits: what to fit, by name: specs, or pairs of a release and a model. Or the paths of spec
            files, or of a folder of them; their names are then those of the files.
        keep_draws: whether to keep the posteriors. Without them memory does not grow with the
            number of draws, and `Fits.results` has the summaries.
        executor: where the fits run: any `concurrent.futures.Executor`, such as a process pool or
            `dask.distributed.Client.get_executor()`. In threads of this process, if left out.
        threads: the number of threads, without an executor; one for each processor, if left out.
        progress: whether to show progress in a terminal or notebook; or a function that is called
            with a `soma.Progress`, some times a second.
        options: settings that override those of a spec: `kernel`, `chains`, `warmup`, `draws`,
            `thin`, `seed` and so on, as in `soma.fit`.

    Returns:
        The posteriors and a table of results. A fit that raises an exception is one row of it, and
        the other fits continue. After Ctrl-C, the complete fits.

    >>> one = (posterior.release, posterior.model)
    >>> both = soma.fit_many({"a": one, "b": one}, chains=2, draws=300)
    >>> list(both), both.results["parameter"].tolist()
    (['a', 'b'], ['mu', 'sigma2', 'mu', 'sigma2'])
    """
    how_to_run(executor, threads, progress)
    named = dict(fits) if isinstance(fits, Mapping) else _read(fits)
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(
                f"{name}: fit_many has no such argument. Allowed: {', '.join(_OPTIONS)}; fits are "
                "stored by `soma fit SPEC.toml ... --out DIR` on the command line."
            )
    tasks = [_Fit(name, *_parts(name, one, options), keep_draws) for name, one in named.items()]
    reporter = Reporter(progress, len(tasks), "fits")
    results = run_tasks(tasks, executor, threads, lambda control, done: reporter(done))
    reporter.close()
    done = [results.done[number] for number in sorted(results.done)]
    done = [one for one in done if one is not None]
    if tasks and not done:
        raise KeyboardInterrupt("there was no complete fit yet")
    rows = [row for one in done for row in one.rows]
    return Fits(
        pd.DataFrame(rows, columns=_COLUMNS),
        {one.name: one.posterior for one in done if one.posterior is not None},
        {one.name: one.error for one in done if one.error is not None},
    )


_OPTIONS = ("kernel", "subset", "order", "moves", "chains", "warmup", "draws", "thin", "seed")
_COLUMNS = [
    *("name", "parameter", "mean", "sd", "q5", "q50", "q95", "mcse_mean", "rhat"),
    *("ess_bulk", "ess_tail", "chains", "draws", "verdict", "reasons"),
]


def _read(paths: Specs | Iterable[Specs]) -> dict[str, Problem]:
    """The specs at these paths, by the names of their files."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    named: dict[str, Problem] = {}
    for path in map(Path, given):
        files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"fits: there is no spec in the folder {path}")
        for file in files:
            if file.stem in named:
                raise ValueError(f"fits: two specs have the name {file.stem!r}")
            named[file.stem] = read_spec(file)
    return named


def _parts(
    name: str, one: Problem, options: dict[str, Any]
) -> tuple[Release, Model | BuiltinModel, str]:
    """The releases, models and settings. Incompatible ones are an error before the first fit."""
    release: Release
    model: Model | BuiltinModel
    if isinstance(one, Spec):
        if one.model is None:
            raise ValueError(f"{name}: the spec has no [model]")
        release, model, how = one.release, one.model, {**one.sampler, **options}
    elif isinstance(one, tuple) and len(one) == 2:
        (release, model), how = one, options
    else:
        raise TypeError(
            f"{name}: must be a soma.Spec, or a pair of a soma.Release and a model "
            f"(given: {shortened(one)})"
        )
    sampler = f"sampler = {toml(how)}\n"
    problem_of(release, model).settings(sampler)
    return release, model, sampler


@dataclasses.dataclass(frozen=True)
class _Done:
    """The result of a fit."""

    name: str
    rows: list[dict[str, Any]]
    posterior: Posterior | None
    error: Exception | None


@dataclasses.dataclass(frozen=True)
class _Fit:
    """The task of one fit: all of its chains in sequence."""

    name: str
    release: Release
    model: Model | BuiltinModel
    sampler: str
    keep_draws: bool

    def run(self, control: _soma.Control) -> _Done | None:
        try:
            posterior = fit_here(self.release, self.model, self.sampler, control)
        except KeyboardInterrupt:
            return None
        except Exception as error:
            row = {"name": self.name, "parameter": "", "chains": 0, "draws": 0}
            failed = {**row, "verdict": "failed", "reasons": str(error)}
            return _Done(self.name, [failed], None, error)
        if control.stopped:
            return None
        kept = posterior if self.keep_draws else None
        return _Done(self.name, _rows(self.name, posterior), kept, None)


def _rows(name: str, posterior: Posterior) -> list[dict[str, Any]]:
    trusted, _, reasons, _ = verdict(posterior)
    _, chains, draws = posterior._columns.shape
    about = {
        "name": name,
        "chains": chains,
        "draws": draws,
        "verdict": "trusted" if trusted else "untrusted",
        "reasons": "; ".join(reasons),
    }
    table = posterior.summary().replace([np.inf, -np.inf], np.nan)
    return [{**about, "parameter": parameter, **row} for parameter, row in table.iterrows()]
