"""Figures of a posterior: as SVG, and on Matplotlib's axes."""

from __future__ import annotations

import dataclasses
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .posterior import Posterior


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure as SVG: shown in a notebook, with values where a reader points.

    >>> figure = posterior.figure("density")
    >>> figure.svg.startswith("<?xml")
    True
    """

    kind: str
    """What it shows."""
    svg: str
    """The drawing, a document of its own."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the drawing to a file that ends in .svg; gives its path."""
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise ValueError(
                f"path: figures are written as SVG (given: {str(path)!r}). Allowed: a file that ends "
                "in .svg; or posterior.plot_density() and the like, whose Matplotlib figure saves PNG."
            )
        path.write_text(self.svg, encoding="utf-8")
        return path

    def _repr_svg_(self) -> str:
        return self.svg.partition("?>")[2]

    def __repr__(self) -> str:
        return f"<soma.Figure: {self.kind}, {len(self.svg)} characters of SVG>"


_ARVIZ = {
    # kind: the function of ArviZ before version 1, and from it on
    "density": ("plot_posterior", "plot_dist"),
    "intervals": ("plot_forest", "plot_forest"),
    "trace": ("plot_trace", "plot_trace"),
    "rank": ("plot_rank", "plot_rank"),
    "ess": ("plot_ess", "plot_ess_evolution"),
    "pairs": ("plot_pair", "plot_pair"),
}


def arviz_plot(posterior: Posterior, kind: str, options: dict[str, Any]) -> Any:
    """What ArviZ draws of the posterior: axes, or a PlotCollection with ArviZ 1.x."""
    try:
        arviz: Any = importlib.import_module("arviz")
    except ImportError as error:
        raise ImportError(
            f"plot_{kind} needs ArviZ and Matplotlib: pip install arviz matplotlib; "
            f"posterior.figure({kind!r}) needs neither"
        ) from error
    old, new = _ARVIZ[kind]
    data = posterior.to_arviz()
    if int(arviz.__version__.split(".")[0]) >= 1:
        return getattr(arviz, new)(data, **{"backend": "matplotlib", **options})
    if kind == "ess":
        options = {"kind": "evolution", **options}
    return getattr(arviz, old)(data, **options)


def axes_of(ax: Any, height: float) -> Any:
    """The axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("this needs Matplotlib: pip install matplotlib") from error
    return pyplot.subplots(figsize=(6.0, height), layout="constrained")[1]


def predictive_plot(posterior: Posterior, ax: Any, options: dict[str, Any]) -> Any:
    """Each published value among replicated ones, in units of their standard deviation."""
    prediction = posterior.predict(**options)
    values = prediction.values
    centre, spread = np.median(values, axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    ends = (np.quantile(values, [0.05, 0.25, 0.75, 0.95], axis=0) - centre) / spread
    ax = axes_of(ax, 1.2 + 0.3 * len(centre))
    rows = -np.arange(len(centre))
    ax.hlines(rows, ends[0], ends[3], color="C0", lw=1.5)
    ax.hlines(rows, ends[1], ends[2], color="C0", lw=4, label="replicated, 50% and 90%")
    if prediction.published is not None:
        shown = (prediction.published - centre) / spread
        ax.plot(shown, rows, "D", color="C3", label="published")
    ax.set_yticks(rows, prediction.labels)
    ax.set_xlabel("standard deviations from the median")
    ax.legend(fontsize="small")
    return ax


def counts_plot(counts: list[tuple[str, float | None, float, float, float]], ax: Any) -> Any:
    """True counts with their central 90% beside the published ones."""
    if not counts:
        raise ValueError("plot_counts: the release is not a table, and has no counts of cells")
    labels = [label for label, *_ in counts]
    published = np.array([np.nan if value is None else value for _, value, *_ in counts])
    low, middle, high = np.array([ends for _, _, *ends in counts]).T
    ax = axes_of(ax, 1.2 + 0.25 * len(labels))
    rows = -np.arange(len(labels))
    ax.hlines(rows, low, high, color="C0", lw=2)
    ax.plot(middle, rows, "o", color="C0", label="true count, median and 90%")
    ax.plot(published, rows, "D", color="C3", alpha=0.7, label="published")
    ax.set_yticks(rows, labels)
    ax.set_xlabel("records")
    ax.legend(fontsize="small")
    return ax


def learned_plot(learned: list[tuple[str, float | None]], ax: Any) -> Any:
    """The share of the prior variance of each quantity that the release removed."""
    known = [(name, share) for name, share in learned if share is not None]
    if not known:
        raise ValueError("plot_learned: no quantity has a proper prior to compare with")
    rows = -np.arange(len(known))
    ax = axes_of(ax, 1.2 + 0.25 * len(known))
    ax.barh(rows, [1.0] * len(known), color="0.85")
    ax.barh(rows, [min(max(share, 0.0), 1.0) for _, share in known], color="C0")
    ax.set_yticks(rows, [name for name, _ in known])
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of the prior variance removed by the release")
    return ax
