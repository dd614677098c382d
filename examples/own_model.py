"""A model and a query of one's own, in NumPy: counts of calls, many of them zero.

Someone called a help line x times last year. With probability `never` they do not know of it, and
x = 0; otherwise x is Poisson with mean `rate`. Published were the number of people without a call
and the number of calls (at most 20 a person), each with discrete Laplace noise.

    python examples/own_model.py
"""

import numpy as np

import soma

N = 200


def statistics(records: np.ndarray) -> np.ndarray:
    calls = records[:, 0]
    return np.column_stack([calls == 0, np.minimum(calls, 20.0)])


class Calls(soma.Model):
    """never ~ Uniform(0, 1), rate ~ Gamma(2, 1)."""

    parameters = ["never", "rate"]

    def sample_prior(self, rng):
        return np.array([rng.uniform(), rng.gamma(2.0)])

    def propose(self, theta, size, rng):
        never, rate = theta
        return np.where(rng.uniform(size=size) < never, 0.0, rng.poisson(rate, size=size))

    def update(self, theta, records, rng):
        never, rate = theta
        zeros = int((records == 0).sum())
        # Who of those without a call does not know of the line, given theta.
        unaware = rng.binomial(zeros, never / (never + (1.0 - never) * np.exp(-rate)))
        aware = len(records) - unaware
        never = rng.beta(1.0 + unaware, 1.0 + aware)
        return np.array([never, rng.gamma(2.0 + records.sum()) / (1.0 + aware)])


def main() -> soma.Posterior:
    release = soma.Release(
        query=soma.CustomQuery(statistics, bounds=[(0.0, 1.0), (0.0, 20.0)], integer=True),
        statistic="sum",
        n=N,
        mechanism=soma.DiscreteLaplace(epsilon=1.0),
        values=[94, 341],
    )
    # No transport between thetas is known for counts, so that the chains creep: many draws.
    posterior = soma.fit(release, Calls(), warmup=2000, draws=20000, seed=1)
    print(posterior.summary()[["mean", "sd", "q5", "q95", "rhat", "ess_bulk"]].round(3))
    return posterior


if __name__ == "__main__":
    main()
