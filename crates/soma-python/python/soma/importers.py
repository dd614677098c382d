"""Releases from what other tools print.

Each of these gives a `soma.Release` with the scales that the tool itself prints: complete it with a
model. `soma import` on the command line does the same with CSV files.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _soma
from ._described import toml
from .release import Release, Size
from .spec import parse_spec

Clamps = Mapping[str, tuple[float, float]]
"""For each column the range that it was clamped to."""


def from_opendp(
    query: Any,
    result: Any,
    *,
    n: Size | None = None,
    clamp: Clamps | None = None,
    candidates: Mapping[str, Sequence[float]] | None = None,
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Release:
    """The release of a query of OpenDP's Polars front.

    Args:
        query: the query, or the table that its `summarize()` gives.
        result: what `query.release().collect()` gave.
        n: the number of records, where it is public; unknown, if left out.
        clamp: for each column with a sum or a mean its bounds, which OpenDP does not print.
        candidates: for each column with a quantile the candidates.
        max_length: that of OpenDP's margin, which the unit of the scale depends on where a quantile is not
            at a half, a quarter and so on.
        labels: all groups that there could be, where those below OpenDP's threshold are not shown.
        columns: the columns to import; all, if left out.

    >>> query = context.query().select(dp.len())  # doctest: +SKIP
    >>> release = soma.from_opendp(query, query.release().collect())  # doctest: +SKIP
    """
    summary = query.summarize() if hasattr(query, "summarize") else query
    tables = [("query.summarize()", summary), ("result", result)]
    return _imported(
        "opendp",
        tables,
        n,
        clamp=clamp,
        candidates=candidates,
        max_length=max_length,
        labels=labels,
        columns=columns,
    )


def from_pipelinedp(
    result: Any,
    *,
    noise: str,
    n: Size | None = None,
    clamp: Clamps | None = None,
    labels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    threshold: float | None = None,
) -> Release:
    """The release of an aggregation of PipelineDP with `output_noise_stddev=True`.

    Args:
        result: the pairs of partition and metrics that `DPEngine.aggregate` gave; or a table.
        noise: `"laplace"` or `"gaussian"`, the `noise_kind`, which PipelineDP does not print.
        n, clamp, labels, columns: as for `from_opendp`.
        threshold: the noisy count up to which none is shown, for partitions in `labels` that are
            not in the result.

    >>> release = soma.from_pipelinedp(  # doctest: +SKIP
    ...     engine.aggregate(rows, params, extractors), noise="laplace", columns=["count"])
    """
    if not hasattr(result, "columns"):
        result = [{"partition": key, **metrics._asdict()} for key, metrics in result]
    return _imported(
        "pipelinedp",
        [("result", result)],
        n,
        clamp=clamp,
        labels=labels,
        columns=columns,
        noise=noise,
        threshold=threshold,
    )


def from_census(
    table: Any,
    *,
    geocode: str | None = None,
    n: Size | None = None,
    columns: Sequence[str] | None = None,
) -> Release:
    """The release of one geographic unit of the US Census.

    Args:
        table: a noisy measurement file (geocode, query_name, query_shape, value, variance), or
            estimates (geocode, query, estimate, std_dev), as a DataFrame.
        geocode: the unit, where the table has several.
        n: the number of records; unknown, if left out.
        columns: the queries to import; all, if left out.

    >>> release = soma.from_census(measurements, geocode="44001")  # doctest: +SKIP
    """
    names = [str(name).lower() for name in table.columns]
    tool = "census-gls" if "estimate" in names else "census-nmf"
    return _imported(tool, [("table", table)], n, columns=columns, geocode=geocode)


def from_table(
    table: Any,
    *,
    noise: str,
    scale: float | None = None,
    threshold: float | None = None,
    n: Size | None = None,
    labels: Sequence[str] | None = None,
) -> Release:
    """The release of a table of noisy counts.

    Args:
        table: a DataFrame: columns of labels; `value` (or `count`, `estimate`); and `scale`,
            `variance` or `std_dev`.
        noise: the kind of noise, such as `"discrete-laplace"`.
        scale: its scale, where the table has no column of it.
        threshold: the noisy count up to which none is shown.
        n: the number of records; unknown, if left out.
        labels: all labels that there could be.

    >>> import pandas
    >>> table = pandas.DataFrame({"region": ["a", "b"], "count": [12, 3]})
    >>> soma.from_table(table, noise="discrete-laplace", scale=2.0).scales
    (2.0, 2.0)
    """
    options = dict(noise=noise, scale=scale, threshold=threshold, labels=labels)
    return _imported("table", [("table", table)], n, **options)


def _imported(
    tool: str, tables: Sequence[tuple[str, Any]], n: Size | None, **options: Any
) -> Release:
    for name in ("clamp", "candidates"):
        if options.get(name) is not None:
            options[name] = [(column, tuple(own)) for column, own in options[name].items()]
    for name in ("labels", "columns"):
        if options.get(name) is not None:
            options[name] = [str(one) for one in options[name]]
    size = n if n is None or isinstance(n, str) else toml(n)
    texts = [(name, _csv(table)) for name, table in tables]
    return parse_spec(_soma.import_release(tool, texts, n=size, **options)).release


def _csv(table: Any) -> str:
    """A DataFrame of pandas or Polars, or a list of rows, as CSV."""
    if hasattr(table, "to_dicts"):
        rows: Iterable[Mapping[str, Any]] = table.to_dicts()
    elif hasattr(table, "to_dict"):
        rows = table.to_dict("records")
    else:
        rows = list(table)
    rows = [{str(name): _cell(value) for name, value in row.items()} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (list, tuple, np.ndarray)):
        return json.dumps(np.asarray(value).ravel().tolist())
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)
