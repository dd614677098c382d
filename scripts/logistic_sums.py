"""A logistic regression from three noisy sums, by soma and without it.

1,500 people; published are the number of smokers, the sum of the ages (clamped to 18 to 90) and the sum of the ages
of smokers, each with Laplace noise at epsilon 2/3. The numbers are simulated, with b0 = -1.1 and b1 = -0.35.

The other posterior: given the parameters, the three sums over 1,500 people are normal to a good approximation, with
a mean and a covariance that are integrals over one age (Gauss-Hermite quadrature). The parameters and the noise are
drawn by an ensemble of walkers (stretch moves of Goodman and Weare 2010, and differential evolution).

Usage: python scripts/logistic_sums.py [ITERATIONS]   (2000; needs NumPy and the package soma; some minutes)
"""

import sys

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

import soma

N = 1500
VALUES = np.array([405.83, 70815.72, 16770.81])
SCALES = np.array([1, 72, 90]) / (2 / 3)
STATISTICS = ["smoker", "clamp(age, 18, 90)", "clamp(age, 18, 90) * smoker"]
DERIVED = {
    "smoking at 30": "logistic(b0 - b1 * 20 / 15)",
    "smoking at 60": "logistic(b0 + b1 * 10 / 15)",
}


def fitted():
    """The draws of soma, by name."""
    model = soma.Model(
        """
        b0 ~ normal(0, 2.5)
        b1 ~ normal(0, 2.5)
        m  ~ normal(48, 3)
        s  ~ log_normal(2.83, 0.05)
        """,
        """
        age    ~ normal(m, s)
        smoker ~ bernoulli(logistic(b0 + b1 * (age - 50) / 15))
        """,
    )
    parts = [
        soma.Part(
            name=name,
            query=soma.Statistics([statistic]),
            statistic="sum",
            values=[float(value)],
            mechanism=soma.Laplace(scale=float(scale)),
        )
        for name, statistic, value, scale in zip(["smokers", "ages", "both"], STATISTICS, VALUES, SCALES)
    ]
    posterior = soma.fit(soma.Release(n=N, parts=parts), model, derived=DERIVED, seed=1, progress=False)
    print(soma.diagnose(posterior).reason)
    return {name: posterior[name].ravel() for name in posterior.parameters}


def log_density(state, nodes, weights):
    """The log density of (b0, b1, m, log s, noise / scale), a row for each walker."""
    b0, b1, m, log_s, noise = state[:, 0], state[:, 1], state[:, 2], state[:, 3], state[:, 4:]
    s = np.exp(log_s)
    age = m[:, None] + s[:, None] * nodes
    p = 1 / (1 + np.exp(-(b0[:, None] + b1[:, None] * (age - 50) / 15)))
    clamped = np.clip(age, 18, 90)
    # A smoker has the statistics (1, age, age), another one (0, age, 0).
    smoker = np.stack([np.ones_like(age), clamped, clamped], -1)
    other = np.stack([np.zeros_like(age), clamped, np.zeros_like(age)], -1)
    yes, no = p * weights, (1 - p) * weights
    mean = np.einsum("kq,kqi->ki", yes, smoker) + np.einsum("kq,kqi->ki", no, other)
    square = np.einsum("kq,kqi,kqj->kij", yes, smoker, smoker)
    square += np.einsum("kq,kqi,kqj->kij", no, other, other)
    covariance = N * (square - mean[:, :, None] * mean[:, None, :])
    sd = np.sqrt(np.einsum("kii->ki", covariance))
    factor = np.linalg.cholesky(covariance / sd[:, :, None] / sd[:, None, :] + 1e-9 * np.eye(3))
    rest = np.linalg.solve(factor, ((VALUES - noise * SCALES - N * mean) / sd)[:, :, None])[:, :, 0]
    density = -0.5 * (rest**2).sum(1) - np.log(np.einsum("kii->ki", factor)).sum(1) - np.log(sd).sum(1)
    prior = -0.5 * (b0**2 + b1**2) / 2.5**2 - 0.5 * ((m - 48) / 3) ** 2 - 0.5 * ((log_s - 2.83) / 0.05) ** 2
    return density + prior - abs(noise).sum(1)


def without_soma(iterations, walkers=200):
    """The draws of the ensemble, by name."""
    rng = np.random.default_rng(1)
    nodes, weights = hermegauss(60)
    kept = weights > 1e-14 * weights.sum()
    nodes, weights = nodes[kept], weights[kept] / weights[kept].sum()
    start = [rng.normal(-1, 0.2, walkers), rng.normal(-0.3, 0.2, walkers), rng.normal(47, 1, walkers)]
    state = np.stack([*start, rng.normal(2.83, 0.05, walkers), *rng.laplace(size=(3, walkers))], 1)
    density = log_density(state, nodes, weights)
    size, draws = state.shape[1], []
    for iteration in range(iterations):
        for half in (0, 1):
            moved, others = np.arange(half, walkers, 2), np.arange(1 - half, walkers, 2)
            count = len(moved)
            if iteration % 3 == 2:
                step = np.where(rng.uniform(size=count) < 0.1, 1.0, 2.38 / np.sqrt(2 * size))[:, None]
                ahead, behind = rng.choice(others, count), rng.choice(others, count)
                proposal = state[moved] + step * (state[ahead] - state[behind])
                proposal += 1e-4 * rng.normal(size=proposal.shape)
                log_ratio = 0.0
            else:
                stretch = (rng.uniform(size=count) + 1) ** 2 / 2
                origin = state[rng.choice(others, count)]
                proposal = origin + stretch[:, None] * (state[moved] - origin)
                log_ratio = (size - 1) * np.log(stretch)
            proposed = log_density(proposal, nodes, weights)
            accepted = np.log(rng.uniform(size=count)) < proposed - density[moved] + log_ratio
            state[moved[accepted]], density[moved[accepted]] = proposal[accepted], proposed[accepted]
        if iteration >= iterations // 4:
            draws.append(state.copy())
    b0, b1, m, log_s = np.concatenate(draws)[:, :4].T
    at = {age: 1 / (1 + np.exp(-(b0 + b1 * (age - 50) / 15))) for age in (30, 60)}
    return {"b0": b0, "b1": b1, "m": m, "s": np.exp(log_s), "smoking at 30": at[30], "smoking at 60": at[60]}


if __name__ == "__main__":
    other = without_soma(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    ours = fitted()
    print(f"{'':15}{'soma: mean':>12}{'sd':>9}{'without: mean':>16}{'sd':>9}")
    for name, draws in other.items():
        mine = ours[name]
        print(f"{name:15}{mine.mean():12.4f}{mine.std():9.4f}{draws.mean():16.4f}{draws.std():9.4f}")
