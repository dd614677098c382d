"""The compiled half of the package `soma`."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

__all__ = [
    "Control",
    "Problem",
    "Release",
    "Settings",
    "__version__",
    "arrow_stream",
    "summarise",
]

__version__: str

@final
class Control:
    """Stops chains from another thread, and counts their iterations."""

    def __new__(cls) -> Control: ...
    def stop(self) -> None:
        """Ends all chains after the iteration that they are at."""

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""

    @property
    def done(self) -> int:
        """The iterations of all chains so far."""

@final
class Release:
    """What was published."""

    @staticmethod
    def parse(text: str) -> Release:
        """Reads the table `[release]` of a spec."""

    @staticmethod
    def custom(
        text: str,
        function: Callable[[np.ndarray], np.ndarray],
        record_dim: int,
        bounds: Sequence[tuple[float, float]],
        integer: bool,
    ) -> Release:
        """Reads the table `[release]` of a spec, all but the query, which is a function."""

    @property
    def labels(self) -> list[str]:
        """A name for each released value."""

    @property
    def scales(self) -> list[float]:
        """The scale of the noise of each released value."""

@final
class Settings:
    """How a run is made."""

    @property
    def kernel(self) -> str: ...
    @property
    def moves(self) -> str: ...
    @property
    def chains(self) -> int: ...
    @property
    def warmup(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def thin(self) -> int: ...
    @property
    def seed(self) -> int: ...

@final
class Problem:
    """A release with a model that fits it."""

    @staticmethod
    def parse(text: str) -> Problem:
        """Reads the tables `[release]` and `[model]` of a spec."""

    @staticmethod
    def custom(
        release: Release,
        object: Any,
        name: str,
        parameters: Sequence[str],
        record_dim: int,
        methods: Sequence[str],
    ) -> Problem:
        """A release with a model written in Python."""

    @property
    def outputs(self) -> list[str]:
        """The names of what a draw holds."""

    def settings(self, text: str) -> Settings:
        """Reads the table `[sampler]` of a spec, with defaults for what it leaves out."""

    def run_chain(
        self, settings: Settings, chain: int, control: Control
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Runs chain number `chain` alone, without the GIL."""

def summarise(draws: np.ndarray) -> dict[str, float]:
    """The summary of the draws of one parameter, an array of shape (chain, draw)."""

def arrow_stream(
    columns: np.ndarray,
    acceptance: np.ndarray,
    log_density: np.ndarray,
    parameters: Sequence[str],
) -> Any:
    """An Arrow stream of draws, one batch for each chain."""
