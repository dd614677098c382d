"""Pairs of chains that meet."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest

import soma


@pytest.fixture
def small():
    return soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=5,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[0.4],
    )


def test_bounds(small, model):
    coupling = soma.couple(small, model, pairs=60, lag=10, seed=1)
    assert coupling.all_met and not coupling.interrupted
    assert coupling.meeting_times.shape == (60,)
    assert (coupling.meeting_times > 10).all()
    bounds = coupling.bounds()
    assert isinstance(bounds, pd.DataFrame) and list(bounds.columns) == ["bound", "se"]
    assert bounds["bound"].iloc[-1] == 0.0 and bounds["bound"].is_monotonic_decreasing
    assert coupling.first_under(0.01) <= bounds.index[-1]
    assert "60 of 60 pairs met" in repr(coupling)
    with pytest.raises(ValueError, match="window"):
        coupling.means()


def test_means_are_those_of_a_long_chain(small, model):
    means = soma.couple(small, model, pairs=200, lag=10, window=(50, 500), seed=1).means()
    long = soma.fit(small, model, chains=4, draws=5000, seed=2).summary()
    error = np.hypot(means["se"], long["mcse_mean"])
    assert (abs(means["mean"] - long["mean"]) < 4.5 * error).all()
    assert ((means["low"] < means["mean"]) & (means["mean"] < means["high"])).all()


def test_same_pairs_elsewhere(small, model):
    options = dict(pairs=8, lag=5, window=(10, 100), seed=3)
    here = soma.couple(small, model, **options)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = soma.couple(small, model, executor=pool, **options)
    assert np.array_equal(here.meeting_times, there.meeting_times)
    assert here.means().equals(there.means())


def test_model_of_your_own(small, own_model):
    coupling = soma.couple(small, own_model, pairs=4, lag=5, max_iterations=2000, seed=1)
    assert coupling.meeting_times.shape == (4,)

    class Without(type(own_model)):
        log_density = soma.Model.log_density

    with pytest.raises(TypeError, match="log_density"):
        soma.couple(small, Without())


def test_errors(small, model):
    with pytest.raises(ValueError, match="^lag: must be a positive"):
        soma.couple(small, model, lag=0)
    with pytest.raises(ValueError, match="the window is empty"):
        soma.couple(small, model, window=(10, 5))
