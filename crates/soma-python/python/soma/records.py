"""Imputed records: draws of the confidential data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pandas as pd


class Records:
    """The imputed records of some draws of a posterior.

    Each stored draw has a whole data set: n records that the model could have produced and that fit
    the release as well as its noise allows. They are draws, not the confidential data.
    """

    columns: tuple[str, ...]
    """The names of a record's columns."""
    thin: int
    """The thinning interval: one in this many draws has its records."""

    def __init__(
        self, read: Callable[[], NDArray[Any]], columns: Sequence[str], thin: int
    ) -> None:
        self._read = read
        self._array: NDArray[Any] | None = None
        self.columns = tuple(columns)
        self.thin = thin

    @property
    def array(self) -> NDArray[Any]:
        """All of them, an array of shape (chain, stored draw, record, column), read-only.

        Those of a run in a folder are read on first use.
        """
        if self._array is None:
            self._array = self._read()
            self._array.flags.writeable = False
        return self._array

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column, an array of shape (chain, stored draw, record)."""
        if column not in self.columns:
            raise KeyError(f"{column}: the columns are {', '.join(self.columns)}")
        values: NDArray[Any] = self.array[..., self.columns.index(column)]
        return values

    def to_pandas(self) -> pd.DataFrame:
        """One row for each record: chain, draw, record (all from 0), and its columns."""
        chains, draws, n, width = self.array.shape
        places = np.indices((chains, draws, n)).reshape(3, -1)
        keys = {"chain": places[0], "draw": places[1] * self.thin, "record": places[2]}
        values = self.array.reshape(-1, width)
        return pd.DataFrame({**keys, **{name: values[:, k] for k, name in enumerate(self.columns)}})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_pandas()` as CSV."""
        self.to_pandas().to_csv(path, index=False)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_pandas()` as Parquet. Needs pyarrow or fastparquet."""
        self.to_pandas().to_parquet(path, index=False)

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"<soma.Records: {names}; one of {self.thin} draws>"


def column_names(model: Any, width: int) -> list[str]:
    """The names of a record's columns: those of the model, or x1, x2, ..."""
    names = list(getattr(model, "record_columns", None) or ())
    return names if len(names) == width else [f"x{k + 1}" for k in range(width)]


def records_of(
    pieces: Sequence[NDArray[Any]], n: int, width: int, draws: int, thin: int, model: Any
) -> Records:
    """The records of chains of which `draws` draws are kept."""
    stored = -(-draws // thin)

    def read() -> NDArray[Any]:
        shape = (-1, n, width)
        return np.stack([piece.reshape(shape)[:stored] for piece in pieces])

    return Records(read, column_names(model, width), thin)
