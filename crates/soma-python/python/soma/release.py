"""What was published."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _soma
from ._checks import instance
from ._described import frozen, toml
from .mechanisms import Mechanism
from .queries import CustomQuery, Query


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """A private release: query, mechanism, number of records and the noisy values.

    Args:
        query: what the curator computed of each record.
        mechanism: the noise.
        n: the number of records; of counts also `"unknown"`, or a table with its prior, such as
            `{"prior": "poisson", "mean": 100}`.
        values: the released values.
        statistic: whether the values are sums or means over the records.

    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(0.0, 10.0)), statistic="mean", n=100,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[4.2])
    >>> release.scales
    (0.1,)
    """

    query: Query | CustomQuery
    mechanism: Mechanism
    n: int | Literal["unknown"] | Mapping[str, Any]
    values: Sequence[float]
    statistic: Literal["sum", "mean"]

    def __post_init__(self) -> None:
        queries = "a query with its settings, such as soma.Mean(clamp=(0.0, 10.0))"
        instance("release.query", self.query, (Query, CustomQuery), queries)
        noise = "a mechanism with its settings, such as soma.Laplace(epsilon=1.0)"
        instance("release.mechanism", self.mechanism, Mechanism, noise)
        object.__setattr__(self, "values", frozen(self.values))
        if self.values == ():
            raise ValueError(
                "release.values: there is no released value (given: []). Allowed: a number for "
                "each statistic of the query."
            )
        if not self._is_text:
            self._native()

    @property
    def _is_text(self) -> bool:
        """Whether the query is known with a model only."""
        return self.query.kind == "text" if isinstance(self.query, Query) else False

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each released value."""
        if self._is_text:
            return tuple(getattr(self.query, "texts"))
        return tuple(self._native().labels)

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of the noise of each released value."""
        if self._is_text:
            raise ValueError(
                "release.scales: the scales of statistics as text follow with a model (given: "
                "soma.Statistics). Allowed: print(posterior.predict()), or `soma check` on a spec."
            )
        return tuple(self._native().scales)

    def _native(self, record_dim: int = 1) -> _soma.Release:
        if isinstance(self.query, CustomQuery):
            record_dim = self.query.record_dim or record_dim
            function, bounds, integer = self.query.function, self.query.bounds, self.query.integer
            return _soma.Release.custom(self._text(), function, record_dim, bounds, integer)
        return _soma.Release.parse(self._text())

    def _text(self) -> str:
        """The table `[release]` of a spec; without the query, where that is a function."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if isinstance(self.query, CustomQuery):
            del fields["query"]
        if self._is_text:
            fields["statistics"] = getattr(fields.pop("query"), "texts")
        return f"release = {toml(fields)}\n"
