"""What a curator computed of each record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

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


@dataclasses.dataclass(frozen=True)
class CustomQuery:
    """A query of your own, as a function of many records at a time.

    Args:
        function: takes an array of shape (size, d), one record in each row, to an array of shape
            (size, k), the statistic of each record. It must depend on nothing but the records.
        bounds: (low, high) for each of the k coordinates of the statistic. A statistic outside
            them is an error. They also give the sensitivity, where the mechanism has a budget and
            no sensitivity of its own: that of coordinates which range freely over their bounds.
        record_dim: d, the length of a record; as the model has it, if left out.
        integer: whether statistics are whole numbers, so that discrete noise may be added.

    >>> import numpy as np
    >>> def moments(records):
    ...     x = np.clip(records[:, 0], 0.0, 1.0)
    ...     return np.column_stack([x, x**2])
    >>> query = soma.CustomQuery(moments, bounds=[(0.0, 1.0), (0.0, 1.0)])
    """

    function: Callable[[np.ndarray], np.ndarray]
    bounds: Sequence[Range]
    record_dim: int | None = None
    integer: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function: must be a function of an array (given: {self.function!r})")
        object.__setattr__(self, "bounds", frozen(self.bounds))
