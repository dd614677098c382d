"""The compiled half of the package `soma`."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

from numpy.typing import NDArray

__all__ = [
    "Calibrator",
    "Control",
    "Groups",
    "KERNELS",
    "Meetings",
    "Pair",
    "Planner",
    "Preparation",
    "Problem",
    "Release",
    "Report",
    "Run",
    "Settings",
    "Store",
    "Window",
    "__version__",
    "arrow_stream",
    "check_published",
    "import_release",
    "judge",
    "posterior_means",
    "read_arrow",
    "read_spec",
    "release_file",
    "run_program",
    "summarise",
    "with_release",
]

_Path: TypeAlias = str | os.PathLike[str]

KERNELS: list[str]
__version__: str

@final
class Control:
    """Stops chains from another thread, and counts their iterations."""

    def __new__(cls) -> Control: ...
    def stop(self) -> None:
        """Ends all chains after the iteration that they are at."""

    def count(self) -> None:
        """Counts an iteration, or another piece of work."""

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""

    @property
    def done(self) -> int:
        """What was counted so far."""

@final
class Release:
    """What was published."""

    @staticmethod
    def parse(text: str) -> Release:
        """Reads the table `[release]` of a spec."""

    @staticmethod
    def custom(
        text: str,
        function: Callable[[NDArray[Any]], NDArray[Any]],
        record_dim: int,
        bounds: Sequence[tuple[float, float]],
        integer: bool,
    ) -> Release:
        """Reads the table `[release]` of a spec, all but the query, which is a function."""

    @property
    def labels(self) -> list[str]:
        """A name for each released value."""

    @property
    def values(self) -> list[float]:
        """The released values of all parts; the threshold, where one was suppressed."""

    @property
    def scales(self) -> list[float]:
        """The scale of the noise of each released value; NaN where it has none of its own."""

    def log_density(self, values: Sequence[float], sums: Sequence[float]) -> float:
        """The normalised log density of `values`, published of records whose statistics have
        these sums."""

_Chosen: TypeAlias = tuple[str, list[tuple[str, float, float, float, float]]]

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
    def parse_for(
        text: str,
        function: Callable[[NDArray[Any]], NDArray[Any]],
        record_dim: int,
        bounds: Sequence[tuple[float, float]],
        integer: bool,
    ) -> Problem:
        """Reads the tables `[release]`, all but the query, which is a function, and `[model]`."""

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

    @property
    def record_dim(self) -> int:
        """The length of a record."""

    @property
    def n(self) -> int:
        """The number of records; of slots for them, where it is not public."""

    def with_derived(self, expressions: list[tuple[str, str]]) -> Problem:
        """The same with quantities derived from the outputs: names and expressions."""

    def with_records(self) -> Problem:
        """The same with records that are to be stored."""

    @property
    def labels(self) -> list[str]:
        """A name for each released value."""

    @property
    def values(self) -> list[float]:
        """The released values."""

    def predict(self, thetas: NDArray[Any], seed: int) -> NDArray[Any]:
        """A replicated release at each theta, a row for each."""

    @property
    def transports_in_vain(self) -> bool:
        """Whether a model's `transport` was asked, and never returned records that can be used."""

    def settings(self, text: str) -> Settings:
        """Reads the table `[sampler]` of a spec, with defaults for what it leaves out."""

    def check_memory(
        self, settings: Settings, threads: int, stored: bool, records_thin: int | None = None
    ) -> None:
        """A `MemoryError` if a run on so many threads, with its records, cannot fit."""

    def run_chain(
        self,
        settings: Settings,
        chain: int,
        control: Control,
        store: Store | None = None,
        records_thin: int | None = None,
    ) -> tuple[
        NDArray[Any],
        NDArray[Any],
        NDArray[Any],
        _Chosen | None,
        float | None,
        list[tuple[str, int, int, int, int, int, float]],
        NDArray[Any],
    ]:
        """Runs chain number `chain` alone, without the GIL. With a store its draws go there."""

def summarise(draws: NDArray[Any]) -> dict[str, float]:
    """The summary of the draws of one parameter, an array of shape (chain, draw)."""

def judge(
    names: Sequence[str],
    columns: Sequence[NDArray[Any]],
    acceptance: NDArray[Any],
    log_density: NDArray[Any],
    crossings: Sequence[float | None],
    warmup: int | None = None,
    spec: str = ...,
) -> tuple[bool, str, list[str], list[tuple[str, int]]]:
    """Whether draws can be trusted, the verdict in words, the reasons, and settings to try."""

def arrow_stream(
    columns: NDArray[Any],
    acceptance: NDArray[Any],
    log_density: NDArray[Any],
    parameters: Sequence[str],
) -> Any:
    """An Arrow stream of draws, one batch for each chain."""

def read_arrow(table: Any) -> list[tuple[str, NDArray[Any]]]:
    """The columns of an Arrow table, as floats."""

def read_spec(text: str) -> dict[str, Any]:
    """The tables of a spec, once it has been read and found good."""

def release_file(text: str) -> str | None:
    """The file that a spec names instead of a table `[release]`, if any."""

def with_release(text: str, published: str) -> str:
    """The spec with the release that it names, whose file has the text `published`."""

@final
class Window:
    """The iterations k to m that unbiased estimates average."""

    def __new__(cls, k: int, m: int) -> Window: ...

@final
class Pair:
    """What one pair did."""

    @staticmethod
    def run(
        problem: Problem,
        settings: Settings,
        lag: int,
        max_iterations: int,
        window: Window | None,
        index: int,
        control: Control,
    ) -> Pair | None:
        """Runs pair number `index`, without the GIL; nothing, if it was stopped."""

    @property
    def met(self) -> int | None:
        """The iteration at which they met, if they did."""

    @property
    def cost(self) -> int:
        """What the pair cost, in iterations of one chain."""

@final
class Meetings:
    """The meeting times of pairs, and what follows from them."""

    def __new__(cls, lag: int, limit: int, pairs: Sequence[Pair]) -> Meetings: ...
    @property
    def mean_delay(self) -> tuple[float, float]:
        """The mean of the meeting time less the lag, with its standard error."""

    def bound(self, t: int) -> tuple[float, float]:
        """The bound of the distance to the posterior after `t` iterations, with its error."""

    def bounds(self, points: int) -> list[tuple[int, float, float]]:
        """Bounds at up to `points` iterations: t, the bound, its standard error."""

    def first_under(self, level: float, errors: float) -> int | None:
        """The first iteration from which the bound is under `level`."""

    def rate(self, seed: int) -> tuple[float, float, float] | None:
        """The factor by which the share of pairs that have not met falls in one iteration."""

def posterior_means(
    names: Sequence[str], pairs: Sequence[Pair], window: Window
) -> list[dict[str, float]]:
    """Unbiased estimates of posterior means from pairs that met: a row for each name."""

@final
class Calibrator:
    """How a calibration is made."""

    def __new__(cls, problem: Problem, settings: Settings, replications: int) -> Calibrator: ...
    def replicate(
        self, problem: Problem, replication: int, control: Control
    ) -> list[int] | None:
        """Replication number `replication`, without the GIL: the rank of each quantity; nothing,
        if it was stopped."""

    def collect(
        self, problem: Problem, ranks: Sequence[Sequence[int]]
    ) -> tuple[float, list[tuple[str, list[int], tuple[float, float, float]]]]:
        """What the ranks of replications say, and the p-value of all of it."""

@final
class Store:
    """A folder that chains are written into."""

    @staticmethod
    def create(
        folder: str,
        problem: Problem,
        settings: Settings,
        spec: str,
        records_thin: int | None = None,
    ) -> Store:
        """A new run of the spec `spec`, which is that of `problem`. One of `records_thin` draws
        has its imputed records stored."""

    @staticmethod
    def resume(folder: str, problem: Problem, spec: str, sampler: str) -> Store:
        """The run in `folder`, to be taken up."""

    @property
    def settings(self) -> Settings | None:
        """How the run is made; nothing, once it is finished."""

    def finish(self, failed: bool) -> None:
        """Ends the run."""

@final
class Report:
    """What a report shows of draws."""

    @staticmethod
    def of(
        problem: Problem | None,
        names: Sequence[str],
        columns: Sequence[NDArray[Any]],
        acceptance: NDArray[Any],
        log_density: NDArray[Any],
        crossings: Sequence[float | None],
        about: Any,
        replicates: bool,
    ) -> Report:
        """Of arrays of shape (chain, draw), one for each name; with replicated releases or without."""

    def page(self, only: Sequence[str] | None = None) -> str:
        """The page; of these quantities alone, where they are given."""

    def compact(self, id: str) -> str:
        """A short report for a notebook."""

    def figure(self, kind: str, columns: int) -> str:
        """One figure as SVG."""

    @property
    def learned(self) -> list[tuple[str, float | None]]:
        """For each quantity the share of its prior variance that the release removed."""

    @property
    def counts(self) -> list[tuple[str, float | None, float, float, float]]:
        """The true counts of a table: label, published value, and the 5%, 50% and 95% quantiles."""

@final
class Run:
    """A run that `soma.fit` or `soma fit --out` stored."""

    @staticmethod
    def open(folder: str) -> Run:
        """The run in `folder`."""

    @property
    def spec(self) -> str:
        """The text of the spec."""

    @property
    def has_query(self) -> bool:
        """Whether the spec has the query: functions of the user's own it cannot have."""

    @property
    def settings(self) -> Settings:
        """How the run was made."""

    @property
    def chosen(self) -> list[_Chosen | None]:
        """The kernel that each chain took, where it was to find one and has."""

    @property
    def crossings(self) -> list[float | None]:
        """How each chain crosses between pieces of the posterior."""

    @property
    def moves(self) -> list[list[tuple[str, int, int, int, int, int, float]]]:
        """What the moves of each chain did after warm-up."""

    @property
    def first_chain(self) -> int:
        """The number of the first chain."""

    @property
    def records_thin(self) -> int | None:
        """Of how many draws one has its imputed records stored."""

    @property
    def n(self) -> int:
        """The number of records."""

    def records(self, dim: int, column: int) -> list[NDArray[Any]]:
        """Column number `column` of the stored records, which are `dim` wide, by chain."""

    @property
    def complete(self) -> bool:
        """Whether all draws were made."""

    @property
    def parameters(self) -> list[str]:
        """The names of the columns of draws."""

    @property
    def seconds(self) -> float:
        """How long the run took."""

    def column(self, name: str) -> list[NDArray[Any]]:
        """The draws of one parameter (or `acceptance`, or `log_density`), by chain."""

def run_program(args: Sequence[str]) -> int:
    """Runs the program `soma` on these arguments, of which the first is its name. Gives its exit code."""

@final
class Groups:
    def __new__(
        cls,
        name: str,
        text: str | None,
        *,
        noise: str,
        scale: float | None,
        variance: float | None,
        epsilon: float | None,
        rho: float | None,
        neighbours: str,
        clamp_at_zero: bool,
        threshold: float | None,
        pool: tuple[float, float] | None,
        alpha: float,
        chains: int,
        warmup: int,
        draws: int,
        thin: int,
        seed: int,
    ) -> Groups: ...
    @property
    def iterations(self) -> int: ...
    @staticmethod
    def columns() -> list[str]: ...
    def fit(
        self, threads: int, control: Control
    ) -> list[tuple[str, str, list[float], int, int, str, str]]: ...

def import_release(
    tool: str,
    tables: Sequence[tuple[str, str]],
    *,
    n: str | None = None,
    clamp: Sequence[tuple[str, tuple[float, float]]] | None = None,
    candidates: Sequence[tuple[str, Sequence[float]]] | None = None,
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    noise: str | None = None,
    scale: float | None = None,
    threshold: float | None = None,
    geocode: str | None = None,
) -> str:
    """The table `[release]` of what a tool printed: tables as CSV, each with its name."""

@final
class Planner:
    """A plan that has been read."""

    def __new__(
        cls,
        text: str,
        *,
        budgets: list[float] | None = None,
        n: list[int] | None = None,
        targets: list[str] | None = None,
        replications: int | None = None,
        warmup: int | None = None,
        draws: int | None = None,
        seed: int | None = None,
    ) -> Planner: ...
    @property
    def fits(self) -> int:
        """How many fits there are in all."""
    def run(self, threads: int, control: Control) -> str | None:
        """The report as JSON; nothing, if it was stopped before a fit was done."""

@final
class Preparation:
    """A release that lacks its noise."""

    def __new__(
        cls, text: str, columns: list[tuple[str, list[float | str | None]]]
    ) -> Preparation: ...
    def parts(self) -> list[tuple[str, str, float, float | None, float, list[float]]]:
        """Name, noise, scale, lattice, sensitivity and the exact answers of each part."""
    @property
    def neighbours(self) -> str:
        """Which data sets are neighbours."""
    def publish(self, noisy: list[tuple[list[float], str, float]]) -> tuple[str, float, float]:
        """The text to publish, and the total of epsilon and of rho."""
    def places(self) -> list[tuple[str | None, str | None]]:
        """The variables of a record, where the model names them, and the column of each."""
    def check_first(self, path: _Path, again: bool) -> None:
        """Refuses a second release of these data, unless it is asked for."""
    def finish(
        self,
        text: str,
        out: _Path | None,
        ledger: _Path | None,
        again: bool,
        epsilon: float,
        rho: float,
    ) -> str | None:
        """Counts what is spent, and writes the file; says what was spent before."""

def check_published(path: _Path, inputs: Sequence[_Path], again: bool) -> None:
    """Refuses a file that must not be written over."""
