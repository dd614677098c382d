"""Calibration finds what is wrong with a model, and nothing where nothing is."""

import dataclasses
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import soma

OPTIONS = dict(replications=150, warmup=50, thin=10, draws=15, seed=1)


@pytest.fixture
def small():
    return soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=5,
        mechanism=soma.Laplace(scale=0.3),
        values=[0.0],
    )


def test_nothing_wrong(small, model, carried_model):
    for one in (model, carried_model):
        calibration = soma.calibrate(small, one, **OPTIONS)
        assert calibration.p_value > 0.001, calibration
        assert list(calibration.ranks.columns) == ["mu", "sigma2", "log_density"]
        assert calibration.ranks.shape == (150, 3) and not calibration.interrupted
        assert calibration.ranks.max().max() <= 15
        assert "nothing wrong was found" in repr(calibration)


def test_a_wrong_update_is_found(small, own_model):
    class Wrong(type(own_model)):
        def update(self, theta, records, rng):
            mu, sigma2 = super().update(theta, records, rng)
            return [mu, 0.5 * sigma2]

    calibration = soma.calibrate(small, Wrong(), **OPTIONS)
    assert calibration.p_value < 0.001
    assert "something is wrong" in repr(calibration)


def test_a_wrong_prior_in_update_is_found_by_centred_moves(small, carried_model):
    """A right transport and log_prior would cover it up."""

    class Wrong(type(carried_model)):
        def update(self, theta, records, rng):
            n, mean, weight = len(records), records.mean(), 1.0 + len(records)
            squares = ((records - mean) ** 2).sum()
            rate = 2.0 + 0.5 * (squares + n / weight * mean**2)
            return self._draw(n * mean / weight, weight, 2.0 + n / 2, rate, rng)

    assert soma.calibrate(small, Wrong(), moves="centred", **OPTIONS).p_value < 0.001


def test_a_wrong_transport_is_found(small, carried_model):
    class Wrong(type(carried_model)):
        def transport(self, records, theta, new_theta):
            return new_theta[0] + np.sqrt(theta[1] / new_theta[1]) * (records - theta[0])

    larger = dataclasses.replace(small, n=20)
    assert soma.calibrate(larger, Wrong(), **OPTIONS).p_value < 0.001


def test_same_ranks_elsewhere(small, own_model):
    options = {**OPTIONS, "replications": 12}
    here = soma.calibrate(small, own_model, **options)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = soma.calibrate(small, own_model, executor=pool, **options)
    assert here.ranks.equals(there.ranks)


def test_the_prior_is_needed(small, own_model):
    class Without(type(own_model)):
        sample_prior = soma.Model.sample_prior

        def initial(self, rng):
            return [0.0, 1.0]

    with pytest.raises(TypeError, match="sample_prior"):
        soma.calibrate(small, Without())


def test_errors(small, model):
    with pytest.raises(ValueError, match="^replications: must be a positive"):
        soma.calibrate(small, model, replications=0)
