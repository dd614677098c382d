"""Releases of confidential data, with noise from OpenDP."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _soma
from .planning import text_of
from .release import Release
from .spec import parse_spec


@dataclasses.dataclass(frozen=True)
class Released:
    """A release that may be published."""

    text: str
    """The text to publish: the same file that `soma release` writes."""
    neighbours: str
    """Which data sets are neighbours: `replace` or `add-remove`."""
    epsilon: float
    """The total of the parts with pure differential privacy, as OpenDP's privacy map proves it."""
    rho: float
    """The total of the parts with zero-concentrated differential privacy."""
    record: dict[str, str | None] = dataclasses.field(default_factory=dict)
    """The column that each variable of a record was taken from; None for a variable that no
    statistic uses. Columns stand for themselves where the model has no names for variables."""

    @property
    def release(self) -> Release:
        """The release, to fit a model to."""
        return parse_spec(self.text).release

    def __repr__(self) -> str:
        budget = [f"{name} {value}" for name, value in self._budget().items()]
        return f"<soma.Released: {' and '.join(budget)}, neighbours {self.neighbours}>\n{self.text}"

    def _budget(self) -> dict[str, float]:
        both = {"epsilon": self.epsilon, "rho": self.rho}
        return {name: value for name, value in both.items() if value > 0}


def release(
    spec: str | os.PathLike[str],
    frame: Any,
    *,
    out: str | os.PathLike[str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    again: bool = False,
) -> Released:
    """Evaluates the release of a spec on a table of data and adds noise through OpenDP.

    It takes the package `opendp` (`pip install opendp`), whose mechanisms add the noise and whose
    privacy map states the guarantee. Nothing of the data but the noisy values is in the result.

    Args:
        spec: the path of a spec, or its text: a release without values, and `[data]` with the
            columns of a record.
        frame: the confidential data: a pandas or Polars frame, an Arrow table, or a mapping from
            names to columns.
        out: a file to write. A file that is there is written over only if it is a release and
            `again` is given.
        ledger: a file that counts what has been spent on these data: a line for each release. A
            second release is refused without `again`, and one above `budget` of `[data]` always.
            **Without a ledger nothing is counted**: you have to know what was released before.
        again: release these data once more. Each release spends its budget again.

    >>> released = soma.release("survey.toml", frame, out="published.toml")  # doctest: +SKIP
    """
    text = text_of(spec)
    if out is not None:
        inputs = [path for path in (None if text is spec else spec, ledger) if path is not None]
        _soma.check_published(out, inputs, again)
    preparation = _soma.Preparation(text, _columns(text, frame))
    if ledger is None:
        _warn_uncounted()
    else:
        preparation.check_first(ledger, again)
    dp = _opendp()
    noisy = [_noisy(dp, *part[1:]) for part in preparation.parts()]
    published, epsilon, rho = preparation.publish(noisy)
    record = {variable or column or "": column for variable, column in preparation.places()}
    warning = preparation.finish(published, out, ledger, again, epsilon, rho)
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    return Released(published, preparation.neighbours, epsilon, rho, record)


_warned: list[str] = []


def _warn_uncounted() -> None:
    """Says once that nothing is counted without a ledger."""
    if not _warned:
        _warned.append("ledger")
        warnings.warn(
            "soma.release without ledger= counts nothing: what these data were released for before "
            "is not known, and a budget holds for this release alone",
            stacklevel=3,
        )


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ImportError(
            "soma.release takes OpenDP, whose noise it adds. Allowed: `pip install opendp`."
        ) from error
    dp.enable_features("contrib")
    return dp


def _noisy(
    dp: Any,
    noise: str,
    scale: float,
    granularity: float | None,
    sensitivity: float,
    answers: list[float],
) -> tuple[list[float], str, float]:
    """The answers with noise, and what OpenDP guarantees for it."""
    is_laplace = noise.endswith("laplace")
    if noise == "rounded-laplace":
        raise ValueError(
            f"mechanism.kind: OpenDP adds no such noise (given: {noise}). Allowed: laplace, "
            "gaussian, discrete-laplace or discrete-gaussian."
        )
    k = None
    if granularity is not None:
        k = round(math.log2(granularity))
        if 2.0**k != granularity:
            raise ValueError(
                "mechanism.granularity: OpenDP's lattices have widths that are powers of two "
                f"(given: {granularity}). Allowed: {2.0**k}, or another power of two."
            )
    is_whole = noise.startswith("discrete") and granularity is None
    atom = dp.atom_domain(T=int) if is_whole else dp.atom_domain(T=float, nan=False)
    metric = dp.l1_distance(T=float) if is_laplace else dp.l2_distance(T=float)
    make = dp.m.make_laplace if is_laplace else dp.m.make_gaussian
    # On a lattice each answer is rounded, so that their number counts.
    size = None if is_whole else len(answers)
    made = make(dp.vector_domain(atom, size=size), metric, scale=scale, k=k)
    data = [round(answer) for answer in answers] if is_whole else answers
    values = [float(value) for value in made(data)]
    return values, "epsilon" if is_laplace else "rho", made.map(sensitivity)


def _columns(text: str, frame: Any) -> list[tuple[str, list[Any]]]:
    """The columns of a frame that the spec can be about, with None for what is missing."""
    if isinstance(frame, Mapping):
        return [(str(name), _cells(column)) for name, column in frame.items()]
    if hasattr(frame, "column_names") and hasattr(frame, "column"):  # Arrow
        names = enumerate(frame.column_names)
        return [(name, _cells(frame.column(i).to_pylist())) for i, name in names]
    if hasattr(frame, "iloc"):  # pandas, in which several columns may have one name
        return [(str(name), _cells(frame.iloc[:, i])) for i, name in enumerate(frame.columns)]
    if hasattr(frame, "columns"):  # Polars
        return [(str(name), _cells(frame[name])) for name in frame.columns]
    raise TypeError(
        f"frame: is no table (given: {type(frame).__name__}). Allowed: a pandas or Polars frame, an "
        "Arrow table, or a mapping from names to columns."
    )


def _cells(column: Any) -> list[Any]:
    values = column.tolist() if hasattr(column, "tolist") else None
    if values is None:
        values = column.to_list() if hasattr(column, "to_list") else list(column)
    return [_cell(value) for value in values]


def _cell(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas.NA and pandas.NaT
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):  # dates and the like are no numbers, and not missing
        return str(value)
    return number if math.isfinite(number) else None
