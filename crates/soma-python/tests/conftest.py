import numpy as np
import pytest

import soma


class Normal(soma.Model):
    """soma.Normal, in NumPy: sigma2 ~ InverseGamma(2, 2), mu ~ N(0, sigma2 / 0.1)."""

    parameters = ["mu", "sigma2"]

    def sample_prior(self, rng):
        return self._draw(0.0, 0.1, 2.0, 2.0, rng)

    def propose(self, theta, size, rng):
        return rng.normal(theta[0], np.sqrt(theta[1]), size=(size, 1))

    def update(self, theta, records, rng):
        n, mean = len(records), records.mean()
        squares = ((records - mean) ** 2).sum()
        weight = 0.1 + n
        rate = 2.0 + 0.5 * (squares + 0.1 * n / weight * mean**2)
        return self._draw(n * mean / weight, weight, 2.0 + n / 2, rate, rng)

    def log_density(self, theta, records):
        return -0.5 * ((records[:, 0] - theta[0]) ** 2 / theta[1] + np.log(2 * np.pi * theta[1]))

    @staticmethod
    def _draw(mean, weight, shape, rate, rng):
        sigma2 = rate / rng.gamma(shape)
        return [rng.normal(mean, np.sqrt(sigma2 / weight)), sigma2]


class CarriedNormal(Normal):
    """The same, with what it takes to mix faster."""

    def log_prior(self, theta):
        mu, sigma2 = theta
        if sigma2 <= 0:
            return -np.inf
        return -3.5 * np.log(sigma2) - (2.0 + 0.05 * mu**2) / sigma2

    def transport(self, records, theta, new_theta):
        return new_theta[0] + np.sqrt(new_theta[1] / theta[1]) * (records - theta[0])


@pytest.fixture
def release():
    return soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=100,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[0.4],
    )


@pytest.fixture
def model():
    return soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))


@pytest.fixture
def own_model():
    return Normal()


@pytest.fixture
def carried_model():
    return CarriedNormal()


@pytest.fixture(scope="session")
def within_error():
    """Whether two posteriors have the same means, up to 4.5 standard errors."""

    def check(one, other):
        a, b = one.summary(), other.summary()
        error = np.hypot(a["mcse_mean"], b["mcse_mean"])
        assert (abs(a["mean"] - b["mean"]) < 4.5 * error).all(), (a, b)

    return check
