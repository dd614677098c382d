"""Releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _soma
from ._checks import instance, shortened
from ._described import frozen, toml
from .mechanisms import Mechanism
from .queries import CustomQuery, Query

_QUERY = "a query with its settings, such as soma.Mean(clamp=(0.0, 10.0))"
_NOISE = "a mechanism with its settings, such as soma.Laplace(epsilon=1.0)"

Size = int | Literal["unknown"] | Mapping[str, Any]
"""A number of records; or "unknown", or its prior."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """The published values of one query: a part of a release.

    Args:
        query: what the curator computed of each record.
        mechanism: the law of the published values.
        values: the published values; `"suppressed"` for one that was not shown.
        statistic: whether the values are sums or means over the records; left out where the law
            says itself what was computed: ratios, variances, quantiles.
        name: a name of its own, which the labels of its values begin with.

    >>> soma.Part(
    ...     query=soma.Count(), statistic="sum", values=[18],
    ...     mechanism=soma.DiscreteLaplace(scale=1.0))  # doctest: +ELLIPSIS
    Part(query=Count(), mechanism=DiscreteLaplace(scale=1.0), values=(18,), ...)
    """

    query: Query
    mechanism: Mechanism
    values: Sequence[float | str]
    statistic: Literal["sum", "mean"] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.query, CustomQuery):
            raise TypeError(
                "part.query: a soma.CustomQuery is for a release of one part "
                f"(given: {shortened(self.query)}). Allowed: soma.Statistics, as text; or {_QUERY}."
            )
        instance("part.query", self.query, Query, _QUERY)
        instance("part.mechanism", self.mechanism, Mechanism, _NOISE)
        object.__setattr__(self, "values", frozen(self.values))

    def _table(self) -> dict[str, Any]:
        return _table(self)


def _table(part: Part | Release) -> dict[str, Any]:
    """The keys of a part; without the query, if it is a function."""
    fields = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    if isinstance(part.query, CustomQuery):
        del fields["query"]
    elif part.query is not None and part.query.kind == "text":
        fields["statistics"] = getattr(fields.pop("query"), "texts")
    return fields


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """A private release: query, mechanism, number of records and the noisy values; or its parts.

    Args:
        query: what the curator computed of each record.
        mechanism: the law of the published values.
        n: the number of records; or, where it is not public, `"unknown"`, or its prior, such as
            `{"prior": "poisson", "mean": 100}`.
        values: the released values; `"suppressed"` for one that was not shown.
        statistic: whether the values are sums or means over the records; left out where the law
            says itself what was computed: ratios, variances, quantiles.
        parts: instead of query, mechanism, values and statistic: several `soma.Part` on the same
            records.
        neighbours: the neighbouring relation of the privacy guarantee, `"replace"` or
            `"add-remove"`, which determines the sensitivity. The default is `"replace"` if n is
            public and `"add-remove"` otherwise.

    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(0.0, 10.0)), statistic="mean", n=100,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[4.2])
    >>> release.scales
    (0.1,)
    >>> release = soma.Release(n="unknown", parts=[
    ...     soma.Part(query=soma.Mean(clamp=(0.0, 10.0)), statistic="sum", values=[420.0],
    ...               mechanism=soma.Laplace(epsilon=1.0), name="sum"),
    ...     soma.Part(query=soma.Count(), statistic="sum", values=[98],
    ...               mechanism=soma.DiscreteLaplace(epsilon=1.0), name="count")])
    >>> release.scales
    (10.0, 1.0)
    """

    query: Query | CustomQuery | None = None
    mechanism: Mechanism | None = None
    n: Size
    values: Sequence[float | str] | None = None
    statistic: Literal["sum", "mean"] | None = None
    parts: Sequence[Part] | None = None
    neighbours: Literal["replace", "add-remove"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))
        object.__setattr__(self, "parts", frozen(self.parts))
        if self.parts is None:
            instance("release.query", self.query, (Query, CustomQuery), _QUERY)
            instance("release.mechanism", self.mechanism, Mechanism, _NOISE)
            if not self.values:
                raise ValueError(
                    "release.values: there is no released value (given: []). Allowed: a number "
                    "for each statistic of the query."
                )
        else:
            self._check_parts()
        if not self._is_text:
            self._native()

    def _check_parts(self) -> None:
        example = "a list of soma.Part(query=..., mechanism=..., values=..., statistic=...)"
        instance("release.parts", self.parts, tuple, example)
        for i, part in enumerate(self.parts or ()):
            instance(f"release.parts[{i}]", part, Part, example)
        for name in ("query", "mechanism", "values", "statistic"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"release.{name}: a release of several parts has this in each of its parts "
                    f"(given: both). Allowed: {example}, and n."
                )

    @property
    def _is_text(self) -> bool:
        """Whether a query is known with a model only."""
        queries = [part.query for part in self.parts] if self.parts else [self.query]
        return any(isinstance(query, Query) and query.kind == "text" for query in queries)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each released value, concatenated over parts."""
        if self._is_text:
            texts = getattr(self.query, "texts", None)
            return tuple(texts) if texts else tuple(f"y{i + 1}" for i in range(len(self.observed)))
        return tuple(self._native().labels)

    @property
    def observed(self) -> tuple[float, ...]:
        """The released values as numbers, concatenated over parts.

        A suppressed value is the threshold.
        """
        parts: Sequence[Part | Release] = self.parts or (self,)
        return tuple(
            float(getattr(part.mechanism, "threshold") if value == "suppressed" else value)
            for part in parts
            for value in part.values or ()
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of the noise of each released value; NaN where it has none of its own, as a
        ratio or a quantile."""
        if self._is_text:
            raise ValueError(
                "release.scales: the scales of statistics as text follow with a model (given: "
                "soma.Statistics). Allowed: `soma check` on a spec with both."
            )
        return tuple(self._native().scales)

    def to_toml(self) -> str:
        """The table `[release]` of a spec, to be completed with a `[model]`."""
        if isinstance(self.query, CustomQuery):
            raise ValueError(
                "release.query: a function cannot be written to a spec (given: soma.CustomQuery). "
                "Allowed: a query of SOMA's own, or soma.Statistics, as text."
            )
        tables = _table(self)
        lines = ["[release]", *_lines({**tables, "parts": None})]
        for part in self.parts or ():
            lines += ["", "[[release.parts]]", *_lines(part._table())]
        return "\n".join(lines) + "\n"

    def _native(self, record_dim: int = 1) -> _soma.Release:
        if isinstance(self.query, CustomQuery):
            record_dim = self.query.record_dim or record_dim
            function, bounds, integer = self.query.function, self.query.bounds, self.query.integer
            return _soma.Release.custom(self._text(), function, record_dim, bounds, integer)
        return _soma.Release.parse(self._text())

    def _text(self) -> str:
        """The table `[release]` of a spec; without the query, if it is a function."""
        tables = _table(self)
        if self.parts is not None:
            tables["parts"] = tuple(part._table() for part in self.parts)
        return f"release = {toml(tables)}\n"


def _lines(table: Mapping[str, Any]) -> list[str]:
    """A line for each key of a table."""
    return [f"{key} = {toml(value)}" for key, value in table.items() if value is not None]
