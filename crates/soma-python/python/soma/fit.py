"""The posterior of a model's parameters given a release."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Literal

from . import _soma
from ._checks import how_to_run, shortened, whole
from ._described import toml
from ._engine import processors, run_tasks
from ._progress import Reporter, Show
from .model import Model
from .models import BuiltinModel
from .posterior import ChainDraws, Chosen, Move, Posterior, Settings
from .records import Records, records_of
from .release import Release
from .stored import finished, open_store, stored_posterior

# One of KERNELS, which the compiled half knows.
Kernel = str
Moves = Literal["auto", "centred", "interwoven"]


def fit(
    release: Release,
    model: Model | BuiltinModel,
    *,
    kernel: Kernel | None = None,
    subset: int | None = None,
    order: Literal["random", "cyclic"] | None = None,
    moves: Moves | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    draws: int | None = None,
    thin: int | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    records: bool = False,
    records_thin: int | None = None,
    derived: Mapping[str, str] | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Show = True,
) -> Posterior:
    """Draws from the posterior of a model's parameters given a release.

    Args:
        release: the release.
        model: a model that comes with SOMA, or a `soma.Model` of your own.
        kernel: the kernel of the records, one of `soma.KERNELS`; the default "auto" tries some of
            them in warm-up and chooses the one with the most effective draws per unit of work: see
            `Posterior.chosen`.
        subset: the number of records of a subset, for the kernel "soma-subset".
        order: how the subset is chosen, for the kernel "soma-subset".
        moves: the theta updates: "centred" is the paper's update given the records, "interwoven"
            adds updates at fixed noise of the records, and "auto", the default, chooses those with
            the best efficiency.
        chains: the number of chains; 4, if left out.
        warmup: iterations of each chain before the first that is kept; 1000, if left out.
        draws: draws kept of each chain; 1000, if left out.
        thin: the thinning interval; 1, if left out.
        seed: the same seed gives the same draws, wherever they are computed; 1, if left out.
        out: a folder to store the run in as it is made, as `soma fit --out` does: `soma.open` and
            `soma diagnose` read it. Without an executor.
        resume: whether to resume the run in the folder from its last checkpoints. A model or query
            of your own must be unchanged: SOMA cannot check that.
        records: whether to keep the imputed records too: `Posterior.records`. With `out` they go
            into the folder.
        records_thin: the thinning interval of stored records, as `[output]` of a spec; 1, if left
            out with `records=True`.
        derived: quantities computed from each draw: expressions of the outputs by name, such as
            `{"difference": "p[b] - p[a]"}`.
        executor: where chains run: any `concurrent.futures.Executor`, such as a process pool or
            `dask.distributed.Client.get_executor()`. In threads of this process, if left out.
        threads: the number of threads, without an executor; one for each processor, if left out.
        progress: whether to show progress in a terminal or notebook; or a function that is called
            with a `soma.Progress`, some times a second.

    Returns:
        The draws; after Ctrl-C, the draws so far.

    Raises:
        MemoryError: the run does not fit into the available memory. Raised before it begins.

    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=100,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[0.4])
    >>> model = soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    >>> posterior = soma.fit(release, model, chains=2, draws=500, seed=1)
    >>> posterior.parameters
    ('mu', 'sigma2')
    """
    how_to_run(executor, threads, progress)
    options = {
        "kernel": kernel,
        "subset": subset,
        "order": order,
        "moves": moves,
        "chains": chains,
        "warmup": warmup,
        "draws": draws,
        "thin": thin,
        "seed": seed,
    }
    sampler = f"sampler = {toml(options)}\n"
    if records_thin is not None:
        records_thin = whole("records_thin", records_thin)
    elif records:
        records_thin = 1
    with_records = records_thin is not None
    problem = problem_of(release, model, with_records, derived)
    kept = records_thin if out is None else None
    if executor is None:
        wanted = problem.settings(sampler)
        problem.check_memory(wanted, threads or processors(), out is not None, kept)
    store = open_store(
        out, resume, problem, release, model, sampler, records_thin, executor, derived
    )
    settings = Settings._of((store and store.settings) or problem.settings(sampler))
    tasks = [
        _Chain(release, model, sampler, chain, store, with_records, kept, derived)
        for chain in range(settings.chains)
    ]
    iterations = settings.warmup + settings.draws * settings.thin
    reporter = Reporter(progress, iterations * settings.chains, "iterations")
    start = time.monotonic()
    with finished(store):
        results = run_tasks(
            tasks,
            executor,
            threads,
            lambda control, done: reporter(done * iterations if executor else control.done),
        )
    reporter.close()
    pieces = [results.done[chain] for chain in sorted(results.done)]
    if any(piece.transports_in_vain for piece in pieces):
        warnings.warn(
            f"{type(model).__name__}.transport: in a whole chain it never returned finite records, "
            "so that theta moved by update alone",
            stacklevel=2,
        )
    if out is not None:
        return stored_posterior(out, release, model, derived)
    pieces = [piece for piece in pieces if len(piece.log_density)]
    if not pieces:
        raise KeyboardInterrupt("there was no draw yet")
    return Posterior._of_chains(
        pieces,
        parameters=problem.outputs,
        release=release,
        model=model,
        settings=settings,
        seconds=time.monotonic() - start,
        interrupted=results.interrupted or any(piece.stopped for piece in pieces),
        records=kept and keeper(problem.n, problem.record_dim, kept, model),
        derived=derived,
    )


def keeper(
    n: int, width: int, thin: int, model: Model | BuiltinModel | None
) -> Callable[[Sequence[ChainDraws], int], Records]:
    """A function that makes the records of a posterior from its chains."""

    def keep(chains: Sequence[ChainDraws], draws: int) -> Records:
        pieces = [chain.records for chain in chains if chain.records is not None]
        return records_of(pieces, n, width, draws, thin, model)

    return keep


def fit_here(
    release: Release, model: Model | BuiltinModel, sampler: str, control: _soma.Control
) -> Posterior:
    """The posterior of chains run here in sequence, until `control` stops them."""
    problem = problem_of(release, model)
    settings = Settings._of(problem.settings(sampler))
    start = time.monotonic()
    pieces = [
        _Chain(release, model, sampler, chain, None).run(control)
        for chain in range(settings.chains)
    ]
    pieces = [piece for piece in pieces if len(piece.log_density)]
    if not pieces:
        raise KeyboardInterrupt("there was no draw yet")
    return Posterior._of_chains(
        pieces,
        parameters=problem.outputs,
        release=release,
        model=model,
        settings=settings,
        seconds=time.monotonic() - start,
        interrupted=control.stopped,
    )


def problem_of(
    release: Release,
    model: Model | BuiltinModel,
    with_records: bool = False,
    derived: Mapping[str, str] | None = None,
) -> _soma.Problem:
    """The release with the model, which must be compatible."""
    if not isinstance(release, Release):
        raise TypeError(f"release: must be a soma.Release (given: {shortened(release)})")
    if not isinstance(model, (Model, BuiltinModel)):
        raise TypeError(
            "model: must be a model of SOMA's, such as soma.Normal(...), or an instance of a "
            f"subclass of soma.Model (given: {shortened(model)})"
        )
    problem = model._problem(release)
    if derived:
        problem = problem.with_derived(list(derived.items()))
    return problem.with_records() if with_records else problem


@dataclasses.dataclass(frozen=True)
class _Chain:
    """The task of running one chain."""

    release: Release
    model: Model | BuiltinModel
    sampler: str
    chain: int
    store: _soma.Store | None
    with_records: bool = False
    records_thin: int | None = None
    derived: Mapping[str, str] | None = None

    def run(self, control: _soma.Control) -> ChainDraws:
        problem = problem_of(self.release, self.model, self.with_records, self.derived)
        settings = (self.store and self.store.settings) or problem.settings(self.sampler)
        values, acceptance, log_density, chosen, crossing, moves, records = problem.run_chain(
            settings, self.chain, control, self.store, self.records_thin
        )
        return ChainDraws(
            self.chain,
            values,
            acceptance,
            log_density,
            Chosen._of(chosen),
            stopped=control.stopped,
            crossing=crossing,
            transports_in_vain=problem.transports_in_vain,
            moves=tuple(Move(*made) for made in moves),
            records=records if self.records_thin else None,
        )
