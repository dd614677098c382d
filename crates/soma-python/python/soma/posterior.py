"""Draws from a posterior."""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
import pandas as pd

from . import _soma
from ._checks import shortened
from ._described import spec_text
from ._report import report_of
from .figure import Figure, arviz_plot, counts_plot, learned_plot, predictive_plot
from .predict import Prediction
from .records import Records
from .release import Release

if TYPE_CHECKING:
    from .model import Model
    from .models import BuiltinModel


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a run was made."""

    kernel: str
    moves: str
    chains: int
    warmup: int
    draws: int
    thin: int
    seed: int

    @staticmethod
    def _of(native: _soma.Settings) -> Settings:
        names = (field.name for field in dataclasses.fields(Settings))
        return Settings(**{name: getattr(native, name) for name in names})


@dataclasses.dataclass(frozen=True)
class Tried:
    """The results of a candidate kernel in warm-up."""

    kernel: str
    draws_per_sweep: float
    """Effective draws of a record per sweep."""
    draws_per_iteration: float
    """Effective draws per iteration, including the theta updates."""
    work: float
    """The work of an iteration, counted in passes over one record."""
    merit: float
    """Effective draws per work, relative to the best."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """The kernel that a chain chose, and the reason."""

    kernel: str
    tried: tuple[Tried, ...]
    """Empty if the warm-up was too short for a trial."""

    @staticmethod
    def _of(
        native: tuple[str, list[tuple[str, float, float, float, float]]] | None,
    ) -> Chosen | None:
        if native is None:
            return None
        kernel, tried = native
        return Chosen(kernel, tuple(Tried(*one) for one in tried))


@dataclasses.dataclass(frozen=True)
class Move:
    """The report of the sweeps, or of a theta update, of a chain after warm-up."""

    name: str
    """"sweep", or the theta update."""
    repeats: int
    """How often it is made in an iteration."""
    every: int
    """In one of how many iterations."""
    proposed: int
    accepted: int
    work: int
    """Its work, counted in passes over one record."""
    share: float
    """Its share of all work of the chain."""

    @property
    def acceptance(self) -> float:
        """The share of its proposals that was accepted."""
        return self.accepted / self.proposed if self.proposed else float("nan")


@dataclasses.dataclass(frozen=True)
class ChainDraws:
    """The draws of one chain."""

    chain: int
    values: NDArray[Any]
    acceptance: NDArray[Any]
    log_density: NDArray[Any]
    chosen: Chosen | None
    """The kernel that the chain chose, if the kernel is "auto"."""
    stopped: bool
    """Whether the chain was stopped before its end."""
    crossing: float | None = None
    """The acceptance rate of swaps at the weakest link of its ladder; NaN if it needs a ladder and
    has none; None if it needs none."""
    transports_in_vain: bool = False
    """Whether the model's `transport` never returned usable records."""
    moves: tuple[Move, ...] = ()
    """The reports of its sweeps and theta updates."""
    records: NDArray[Any] | None = None
    """The stored imputed records, concatenated."""


class Posterior:
    """Draws from the posterior of a model's parameters given a release.

    It is also an Arrow table with one row for each draw: `pyarrow.table(posterior)`,
    `polars.from_arrow(posterior)` and the like read it without copying a number.

    >>> posterior["mu"].shape
    (2, 500)
    """

    parameters: tuple[str, ...]
    """The names of the parameters."""
    acceptance: NDArray[Any]
    """The acceptance rate since the previous draw, (chain, draw)."""
    log_density: NDArray[Any]
    """The log density of the released values given the imputed records, (chain, draw)."""
    release: Release | None
    """What was published."""
    model: Model | BuiltinModel | None
    """The model."""
    settings: Settings | None
    """How the run was made."""
    chosen: tuple[Chosen, ...]
    """The kernel that each chain chose and the reason; empty unless the kernel was "auto"."""
    moves: tuple[tuple[Move, ...], ...]
    """The reports of the sweeps and theta updates after warm-up, for each chain."""
    records: Records | None
    """The imputed records, if requested (`records=True`)."""
    derived: Mapping[str, str] | None
    """The derived quantities: expressions by name."""
    seconds: float
    """The duration of the run."""
    interrupted: bool
    """Whether the run was stopped before its end."""

    def __init__(
        self,
        columns: NDArray[Any],
        parameters: Sequence[str],
        acceptance: NDArray[Any],
        log_density: NDArray[Any],
        *,
        release: Release | None = None,
        model: Model | BuiltinModel | None = None,
        settings: Settings | None = None,
        chosen: Sequence[Chosen] = (),
        crossings: Sequence[float | None] = (),
        moves: Sequence[Sequence[Move]] = (),
        records: Records | None = None,
        derived: Mapping[str, str] | None = None,
        seconds: float = float("nan"),
        interrupted: bool = False,
    ) -> None:
        for array in (columns, acceptance, log_density):
            array.flags.writeable = False
        self._columns = columns
        self.parameters = tuple(parameters)
        self.acceptance = acceptance
        self.log_density = log_density
        self.release = release
        self.model = model
        self.settings = settings
        self.chosen = tuple(chosen)
        self._crossings = list(crossings)
        self.moves = tuple(tuple(chain) for chain in moves)
        self.records = records
        self.derived = derived
        self.seconds = seconds
        self.interrupted = interrupted

    @classmethod
    def _of_chains(cls, chains: Sequence[ChainDraws], **about: Any) -> Posterior:
        """The posterior of chains, which have different lengths if they were stopped.

        Keeps the longest chains, truncated to a common length, so that the number of draws is
        largest.
        """
        lengths = sorted((len(chain.log_density) for chain in chains), reverse=True)
        length = max(range(len(lengths)), key=lambda last: (last + 1) * lengths[last])
        length = lengths[length]
        kept = [chain for chain in chains if len(chain.log_density) >= length]
        # A copy with each parameter in one piece, as Arrow's columns are.
        columns = np.stack([chain.values[:length].T for chain in kept], axis=1)
        acceptance = np.stack([chain.acceptance[:length] for chain in kept])
        log_density = np.stack([chain.log_density[:length] for chain in kept])
        parameters = about.pop("parameters")
        about["moves"] = [chain.moves for chain in kept]
        records = about.pop("records", None)
        if callable(records):
            about["records"] = records(kept, length)
        about["chosen"] = [chain.chosen for chain in kept if chain.chosen is not None]
        about["crossings"] = [chain.crossing for chain in kept]
        return cls(np.ascontiguousarray(columns), parameters, acceptance, log_density, **about)

    @classmethod
    def from_arrow(cls, table: Any) -> Posterior:
        """Draws from an Arrow table: of pyarrow, polars, DuckDB, or of a `Posterior`.

        The column `chain` names the chains, which must be equally long; rows of a chain come in
        the order of its draws. `draw` is ignored, and all other columns are parameters, except
        `acceptance` and `log_density`.

        >>> same = soma.Posterior.from_arrow(posterior)
        >>> bool((same.draws == posterior.draws).all())
        True
        """
        columns = dict(_soma.read_arrow(table))
        chain = columns.pop("chain", None)
        columns.pop("draw", None)
        if chain is None or not len(chain):
            raise ValueError("table: has no column chain with a row for each draw")
        order = np.argsort(chain, kind="stable")
        _, lengths = np.unique(chain, return_counts=True)
        if (lengths != lengths[0]).any():
            given = shortened(lengths.tolist())
            raise ValueError(f"table: chains must be equally long (given: {given} rows)")
        shape = (len(lengths), lengths[0])
        unknown = np.full(len(chain), np.nan)
        acceptance, log_density = (
            columns.pop(name, unknown)[order].reshape(shape)
            for name in ("acceptance", "log_density")
        )
        values = [column[order].reshape(shape) for column in columns.values()]
        return cls(np.array(values), list(columns), acceptance, log_density)

    @property
    def draws(self) -> NDArray[Any]:
        """All draws, an array of shape (chain, draw, parameter)."""
        return np.moveaxis(self._columns, 0, -1)

    def __getitem__(self, parameter: str) -> NDArray[Any]:
        """The draws of one parameter, an array of shape (chain, draw)."""
        if parameter not in self.parameters:
            raise KeyError(f"{parameter}: the parameters are {', '.join(self.parameters)}")
        column: NDArray[Any] = self._columns[self.parameters.index(parameter)]
        return column

    def summary(self) -> pd.DataFrame:
        """One row for each parameter, with the columns of `soma fit --json`.

        `print(posterior)` shows all of it, rounded, and says whether it can be trusted.

        >>> posterior.summary().loc["mu", ["mean", "sd"]].round(1).tolist()
        [0.4, 0.2]
        """
        rows = [_soma.summarise(column) for column in self._columns]
        return pd.DataFrame(rows, index=pd.Index(self.parameters, name="parameter"))

    def predict(
        self, release: Release | None = None, *, draws: int = 1000, seed: int = 1
    ) -> Prediction:
        """Posterior predictive releases: of new records, at draws of theta.

        Args:
            release: another release, such as one with another n; its values, which may be left as
                zeros, are what `Prediction.p_values` compares with. The release of the posterior,
                if left out.
            draws: how many releases; theta is taken from draws that are evenly spaced.
            seed: the same seed gives the same replications.

        >>> posterior.predict(draws=200).values.shape
        (200, 1)
        """
        from .fit import problem_of

        release = self.release if release is None else release
        if release is None or self.model is None:
            raise ValueError("the posterior does not know its model: it was read from a table")
        problem = problem_of(release, self.model)
        # Derived quantities are of the posterior's own release.
        plain = [k for k, name in enumerate(self.parameters) if name not in (self.derived or {})]
        thetas = self.draws.reshape(-1, len(self.parameters))[:, plain]
        chosen = np.linspace(0, len(thetas) - 1, draws).round().astype(int)
        values = problem.predict(np.ascontiguousarray(thetas[chosen]), seed)
        return Prediction(tuple(problem.labels), values, np.array(problem.values))

    def to_arviz(self) -> Any:
        """An ArviZ `InferenceData`, or `DataTree` with ArviZ 1.x.

        It holds the groups posterior, sample_stats (`acceptance_rate`, and `lp`, the log density
        of the release) and observed_data (the released values), and says in its attributes how it
        was made. ArviZ is not installed with SOMA: `pip install arviz`.
        """
        from ._arviz import to_arviz

        return to_arviz(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The draws as an Arrow table: chain, draw, each parameter, acceptance and log_density."""
        return _soma.arrow_stream(
            self._columns, self.acceptance, self.log_density, self.parameters
        )

    def __repr__(self) -> str:
        _, chains, draws = self._columns.shape
        stopped = ", stopped before its end" if self.interrupted else ""
        table = shown(self.summary())
        _, reason, _, _ = verdict(self)
        return f"<soma.Posterior: {chains} chains of {draws} draws{stopped}>\n{table}\n\n{reason}"

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        only: Sequence[str] | None = None,
    ) -> str | Path:
        """A report as one HTML page, to be read by somebody who did not run it.

        What was published and its law, the posterior beside the prior, derived quantities, true
        counts, the release among replicated releases, pairs, diagnostics, and how the run was made.
        The page needs no network and no other file; `soma report` writes the same.

        Args:
            path: the file to write; without it the page is returned as text.
            title: the heading of the page.
            only: show these quantities alone, in this order.

        >>> page = posterior.report(title="A private mean")
        >>> page.startswith("<!DOCTYPE html>") and "A private mean" in page
        True
        """
        page = report_of(self, title, True).page(None if only is None else list(only))
        if path is None:
            return page
        path = Path(path)
        path.write_text(page, encoding="utf-8")
        return path

    def figure(self, kind: str, *, columns: int = 3) -> Figure:
        """One figure of the report as SVG; `soma plot` draws the same.

        Args:
            kind: "density", "intervals", "learned", "counts", "predictive", "pairs", "trace", "rank" or
                "ess".
            columns: how many panels stand beside each other, at most.

        >>> posterior.figure("trace")  # doctest: +ELLIPSIS
        <soma.Figure: trace, ... characters of SVG>
        """
        native = report_of(self, None, kind == "predictive")
        return Figure(kind, native.figure(kind, columns))

    def plot_density(self, **options: Any) -> Any:
        """The posterior densities, by ArviZ: `plot_posterior`, or `plot_dist` of ArviZ 1.x.

        Options go to ArviZ. Returns Matplotlib's axes, or a PlotCollection with ArviZ 1.x.
        """
        return arviz_plot(self, "density", options)

    def plot_intervals(self, **options: Any) -> Any:
        """Intervals of all parameters, by ArviZ's `plot_forest`. Options go to ArviZ."""
        return arviz_plot(self, "intervals", options)

    def plot_trace(self, **options: Any) -> Any:
        """The draws of each chain in their order, by ArviZ's `plot_trace`. Options go to ArviZ."""
        return arviz_plot(self, "trace", options)

    def plot_rank(self, **options: Any) -> Any:
        """The ranks of each chain's draws, by ArviZ's `plot_rank`. Options go to ArviZ."""
        return arviz_plot(self, "rank", options)

    def plot_ess(self, **options: Any) -> Any:
        """How effective draws grow, by ArviZ: `plot_ess`, or `plot_ess_evolution` of ArviZ 1.x."""
        return arviz_plot(self, "ess", options)

    def plot_pairs(self, **options: Any) -> Any:
        """Pairs of parameters, by ArviZ's `plot_pair`. Options go to ArviZ."""
        return arviz_plot(self, "pairs", options)

    def plot_predictive(self, *, ax: Any = None, **options: Any) -> Any:
        """The release among replicated releases, on Matplotlib's axes.

        Args:
            ax: the axes to draw on; new ones, if left out.
            options: those of `Posterior.predict`.
        """
        return predictive_plot(self, ax, options)

    def plot_counts(self, *, ax: Any = None) -> Any:
        """True counts with their central 90% beside the published ones, on Matplotlib's axes."""
        return counts_plot(report_of(self, None, False).counts, ax)

    def plot_learned(self, *, ax: Any = None) -> Any:
        """The share of each prior variance that the release removed, on Matplotlib's axes."""
        return learned_plot(report_of(self, None, False).learned, ax)

    def _repr_html_(self) -> str:
        return report_of(self, None, False).compact(f"soma-{uuid.uuid4().hex[:12]}")


def verdict(posterior: Posterior) -> tuple[bool, str, tuple[str, ...], dict[str, int]]:
    """Whether draws can be trusted; why, with what to try; the reasons; the settings to try."""
    warmup = None if posterior.settings is None else posterior.settings.warmup
    trusted, reason, reasons, advice = _soma.judge(
        posterior.parameters,
        list(posterior._columns),
        posterior.acceptance,
        posterior.log_density,
        posterior._crossings,
        warmup,
        spec_text(posterior.model, posterior.derived),
    )
    if advice:
        settings = ", ".join(f"{name}={value}" for name, value in advice)
        reason = f"{reason} Try {settings}."
    return trusted, reason, tuple(reasons), dict(advice)


def shown(table: pd.DataFrame) -> str:
    """All columns of the table to four digits, regardless of the options of pandas."""
    text: str = table.rename_axis(None).to_string(float_format=lambda value: f"{value:.4g}")
    return text
