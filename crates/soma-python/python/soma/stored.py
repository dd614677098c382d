"""Runs in folders, as the command line stores them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _soma
from ._described import spec_text
from .model import Model
from .models import BuiltinModel
from .posterior import ChainDraws, Chosen, Move, Posterior, Settings
from .records import Records, column_names
from .release import Release

Folder = str | os.PathLike[str]


def open(
    folder: Folder, *, release: Release | None = None, model: Model | BuiltinModel | None = None
) -> Posterior:
    """Opens a run that `soma.fit(out=...)` or `soma fit --out` stored, complete or not.

    Args:
        folder: its path.
        release: what it was a run of, if the query was one of your own: a folder cannot hold
            functions.
        model: the same for a model of your own, and for any model beside a query of your own;
            without it the posterior has no `model`.

    >>> posterior = soma.open("run")  # doctest: +SKIP
    """
    from .spec import parse_spec

    run = _soma.Run.open(os.fspath(folder))
    if release is not None:
        posterior = _read(folder, release, model, None)
    elif run.has_query:
        spec = parse_spec(run.spec)
        posterior = _read(folder, spec.release, spec.model or model, spec.derived or None)
    else:
        raise ValueError(
            f"release: {os.fspath(folder)} holds a run of a query of your own (given: None). "
            "Allowed: the soma.Release that the run was made of."
        )
    if posterior is None:
        raise ValueError(f"{os.fspath(folder)}: nothing has been drawn yet")
    return posterior


def stored_posterior(
    folder: Folder,
    release: Release,
    model: Model | BuiltinModel,
    derived: Mapping[str, str] | None,
) -> Posterior:
    """The run that was just stored, with its release and model."""
    posterior = _read(folder, release, model, derived)
    if posterior is None:
        raise KeyboardInterrupt("there was no draw yet; resume=True continues the run")
    return posterior


def _read(
    folder: Folder,
    release: Release,
    model: Model | BuiltinModel | None,
    derived: Mapping[str, str] | None,
) -> Posterior | None:
    run = _soma.Run.open(os.fspath(folder))
    names = [*run.parameters, "acceptance", "log_density"]
    by_chain = zip(*(run.column(name) for name in names))
    chains = [
        ChainDraws(
            number,
            np.column_stack(values),
            acceptance,
            log_density,
            Chosen._of(chosen),
            not run.complete,
            crossing=crossing,
            moves=tuple(Move(*made) for made in moves),
        )
        for number, (chosen, crossing, moves, (*values, acceptance, log_density)) in enumerate(
            zip(run.chosen, run.crossings, run.moves, by_chain), start=run.first_chain
        )
        if len(log_density)
    ]
    if not chains:
        return None
    return Posterior._of_chains(
        chains,
        parameters=run.parameters,
        release=release,
        model=model,
        settings=Settings._of(run.settings),
        seconds=run.seconds,
        interrupted=not run.complete,
        records=_records(run, release, model) if run.records_thin and model else None,
        derived=derived,
    )


def _records(
    run: _soma.Run, release: Release, model: Model | BuiltinModel
) -> Callable[[Sequence[ChainDraws], int], Records]:
    """A function that reads the records of a stored run on first use."""
    thin = run.records_thin or 1
    width = model._problem(release).record_dim

    def keep(chains: Sequence[ChainDraws], draws: int) -> Records:
        places = [chain.chain - run.first_chain for chain in chains]
        stored = -(-draws // thin)

        def read() -> NDArray[Any]:
            columns = [run.records(width, column) for column in range(width)]
            shape = (-1, run.n)
            return np.stack(
                [
                    np.stack([by_chain[place].reshape(shape)[:stored] for by_chain in columns], -1)
                    for place in places
                ]
            )

        return Records(read, column_names(model, width), thin)

    return keep


def open_store(
    folder: Folder | None,
    resume: bool,
    problem: _soma.Problem,
    release: Release,
    model: Model | BuiltinModel,
    sampler: str,
    records_thin: int | None,
    executor: Executor | None,
    derived: Mapping[str, str] | None = None,
) -> _soma.Store | None:
    """The store of a run, if it is to be stored."""
    if folder is None:
        if resume:
            raise ValueError("resume: there is no run to go on with. Allowed: out=, its folder.")
        return None
    if executor is not None:
        raise ValueError(
            f"out: chains that are stored run in this process (given: executor={executor!r}). "
            "Allowed: threads=."
        )
    path = os.fspath(folder)
    spec = release._text() + spec_text(model, derived)
    if records_thin is not None:
        spec += f"output = {{ records = true, records_thin = {records_thin} }}\n"
    if resume and (Path(path) / "manifest.json").exists():
        return _soma.Store.resume(path, problem, spec, sampler)
    return _soma.Store.create(path, problem, problem.settings(sampler), spec, records_thin)


@contextlib.contextmanager
def finished(store: _soma.Store | None) -> Iterator[None]:
    """Ends the stored run, after success or failure."""
    try:
        yield
    except BaseException:
        if store is not None:
            store.finish(failed=True)
        raise
    if store is not None:
        store.finish(failed=False)
