"""Queries: the statistic of each record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ._checks import shortened
from ._described import Described, frozen

Range = tuple[float, float]
"""(low, high)"""


@dataclasses.dataclass(frozen=True, repr=False)
class Query(Described):
    """A query: the statistic of a record. Its sum or mean over the records was released."""


@dataclasses.dataclass(frozen=True, repr=False)
class Mean(Query):
    """Each coordinate of a record, clamped to its range.

    Args:
        clamp: (low, high), or one such range for each coordinate.

    >>> soma.Mean(clamp=(0.0, 1.0))
    Mean(clamp=(0.0, 1.0))
    """

    kind: ClassVar[str] = "mean"
    clamp: Range | Sequence[Range]


@dataclasses.dataclass(frozen=True, repr=False)
class Gram(Query):
    """The products of every two of 1, x1, ..., xp, y of a record (x1, ..., xp, y), without 1 * 1.

    Each variable is clamped to its range and the range mapped onto [-1, 1] first. The order: y;
    x1 y, ..., xp y; y^2; x1, ..., xp; and the products of the predictors row by row, x1^2, x1 x2,
    ..., xp^2.

    Args:
        clamp: (low, high) for all variables, with `predictors`; or one range for each of the
            predictors and then for the response.
        predictors: p, the number of predictors.
    """

    kind: ClassVar[str] = "gram"
    clamp: Range | Sequence[Range]
    predictors: int | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class LogSum(Query):
    """The logarithm of each share of a composition, clamped to a range first.

    Args:
        clamp: (low, high) with 0 < low, for all shares.
        compositions: whether it is sure that the shares of every record sum to one, as where the
            curator has divided by their sum. Then a record moves the sum less.

    >>> release = soma.Release(
    ...     query=soma.LogSum(clamp=(1 / 1440, 1.0)), statistic="mean", n=3528,
    ...     mechanism=soma.Laplace(epsilon=10.0), values=[-0.9119, -3.3123, -0.6333])
    """

    kind: ClassVar[str] = "log-sum"
    clamp: Range
    compositions: bool | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Histogram(Query):
    """The bin that a record falls in: counts of bins.

    Args:
        range: (low, high), or one such range for each coordinate, for bins of equal width.
        bins: the number of bins, or one number for each coordinate.
        edges: the edges of bins that are not of equal width, instead of `range` and `bins`; or a
            list of such lists, one for each coordinate.
    """

    kind: ClassVar[str] = "histogram"
    range: Range | Sequence[Range] | None = None
    bins: int | Sequence[int] | None = None
    edges: Sequence[float] | Sequence[Sequence[float]] | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Categories(Query):
    """The category of a record: counts of categories.

    Args:
        labels: the names of the categories; one for each released value, if left out.
    """

    kind: ClassVar[str] = "categories"
    labels: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class CrossTable(Query):
    """The cell of a record in a cross-table: counts of its cells, or of a margin.

    Args:
        axes: the labels of the levels of each axis, or how many there are.
        margin: the axes that the released counts keep, by number; all, if left out, and the number
            of all records for an empty list.

    >>> soma.CrossTable(axes=[["f", "m"], 3], margin=[0])
    CrossTable(axes=(('f', 'm'), 3), margin=(0,))
    """

    kind: ClassVar[str] = "table"
    axes: Sequence[int | Sequence[str]]
    margin: Sequence[int] | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Count(Query):
    """1 for every record: their number, for a part with a noisy count.

    >>> soma.Count()
    Count()
    """

    kind: ClassVar[str] = "count"


@dataclasses.dataclass(frozen=True, repr=False)
class Moments(Query):
    """Products of powers of the variables of a record, each clamped to its range.

    Args:
        clamp: (low, high), or one such range for each variable.
        degree: all products up to this degree were released; or
        powers: a list for each statistic, with the power of each variable.

    >>> soma.Moments(clamp=[(0, 10), (0, 1)], powers=[[1, 0], [1, 1]])
    Moments(clamp=((0, 10), (0, 1)), powers=((1, 0), (1, 1)))
    """

    kind: ClassVar[str] = "moments"
    clamp: Range | Sequence[Range]
    degree: int | None = None
    powers: Sequence[Sequence[int]] | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Variance(Query):
    """The sample variance of clamped numbers, released as such.

    Args:
        clamp: (low, high).
        ddof: 1, if left out, for the sum of squares over n - 1; 0 for that over n.
    """

    kind: ClassVar[str] = "variance"
    clamp: Range
    ddof: int | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Quantile(Query):
    """A quantile, chosen among candidates: with `PermuteAndFlip` or `ExponentialMechanism`.

    Args:
        candidates: the numbers that it was chosen among, in increasing order.
        alpha: 0.5 for the median.
    """

    kind: ClassVar[str] = "quantile"
    candidates: Sequence[float]
    alpha: float = 0.5


@dataclasses.dataclass(frozen=True)
class CustomQuery:
    """A query of your own, as a function of many records at a time.

    Args:
        function: takes an array of shape (size, d), one record in each row, to an array of shape
            (size, k), the statistic of each record. It must depend on nothing but the records.
        bounds: (low, high) for each of the k coordinates of the statistic. A statistic outside
            them is an error. They also give the sensitivity, if the mechanism has a budget and no
            sensitivity: that of coordinates that vary independently within their bounds.
        record_dim: d, the length of a record; as the model has it, if left out.
        integer: whether statistics are whole numbers, so that discrete noise may be added.

    >>> import numpy as np
    >>> def moments(records):
    ...     x = np.clip(records[:, 0], 0.0, 1.0)
    ...     return np.column_stack([x, x**2])
    >>> query = soma.CustomQuery(moments, bounds=[(0.0, 1.0), (0.0, 1.0)])
    """

    function: Callable[[NDArray[Any]], NDArray[Any]]
    bounds: Sequence[Range]
    record_dim: int | None = None
    integer: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function: must be a function of an array (given: {self.function!r})")
        object.__setattr__(self, "bounds", frozen(self.bounds))
        pairs = isinstance(self.bounds, tuple) and all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in self.bounds
        )
        if not pairs:
            raise ValueError(
                f"bounds: must be a list of pairs "
                f"(given: {shortened(self.bounds)}). Allowed: (low, high) "
                "for each coordinate of the statistic, such as [(0.0, 10.0)] for one."
            )
