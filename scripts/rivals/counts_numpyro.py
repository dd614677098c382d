"""Counts by SOMA and by a continuous relaxation with NUTS, in one run.

The rival is the model of NAPSU-MQ (Raisa, Jalko, Kaski and Honkela, AISTATS 2023) with one query for
each cell: the multinomial counts are taken for normal ones, so that given the shares p the noisy
counts are y ~ N(n p, n (diag p - p p') + sd^2 I), and NUTS samples p. The prior of p is flat, as in
SOMA's model. NumPyro, 64 bits, four chains on one core one after the other, as many draws of warm-up
as SOMA, compiled before the clock starts; SOMA's clock runs from the release to the draws.

    python scripts/rivals/counts_numpyro.py            # needs numpyro (pip install numpyro), and soma

prints effective draws a second of both on 24 cells, and a small table of counts where the relaxation
is wrong, beside exact answers by enumeration.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

import soma

jax.config.update("jax_enable_x64", True)
numpyro.set_host_device_count(1)


def covariance(shares, n, sd):
    """Of noisy counts: that of the multinomial and that of the noise."""
    cells = shares.shape[-1]
    return n * (jnp.diag(shares) - jnp.outer(shares, shares)) + sd**2 * jnp.eye(cells)


def relaxed(values, n, sd):
    """The relaxation: normal counts, integrated out."""
    shares = numpyro.sample("p", dist.Dirichlet(jnp.ones(len(values))))
    noisy = dist.MultivariateNormal(n * shares, covariance(shares, n, sd))
    numpyro.sample("y", noisy, obs=values)


def nuts(values, n, sd, warmup, draws, seed=1):
    """Draws of the shares, (chain, draw, cell), and the seconds after compilation."""
    values = jnp.asarray(values, dtype=float)
    mcmc = MCMC(
        NUTS(relaxed), num_warmup=warmup, num_samples=draws, num_chains=4,
        chain_method="sequential", progress_bar=False, jit_model_args=True,
    )  # fmt: skip
    mcmc.run(jax.random.PRNGKey(0), values, float(n), float(sd))  # compiles
    jax.block_until_ready(mcmc.get_samples()["p"])
    begun = time.perf_counter()
    mcmc.run(jax.random.PRNGKey(seed), values, float(n), float(sd))
    shares = np.asarray(mcmc.get_samples(group_by_chain=True)["p"])
    return shares, time.perf_counter() - begun


def normal_counts(shares, values, n, sd, rng):
    """Counts given the shares under the relaxation: normal, by the formula of conditioning."""
    out = np.empty_like(shares)
    for at in np.ndindex(shares.shape[:2]):
        p = shares[at]
        prior = n * (np.diag(p) - np.outer(p, p))
        gain = prior @ np.linalg.inv(prior + sd**2 * np.eye(len(p)))
        mean = n * p + gain @ (values - n * p)
        out[at] = rng.multivariate_normal(mean, prior - gain @ prior, method="svd")
    return out


def fit(values, n, sd, warmup, draws):
    """SOMA's posterior, and the seconds."""
    begun = time.perf_counter()
    release = soma.Release(
        query=soma.Categories(), statistic="sum", n=n,
        mechanism=soma.DiscreteGaussian(scale=sd), values=[int(value) for value in values],
    )  # fmt: skip
    model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    options = dict(warmup=warmup, draws=draws, threads=1, progress=False)
    posterior = soma.fit(release, model, **options)
    return posterior, time.perf_counter() - begun


def smallest(draws):
    """The smallest effective number of draws of the columns of (chain, draw, column)."""
    return float(np.min(effective_sample_size(np.asarray(draws))))


def speed(cells, n, sd, warmup, draws):
    rng = np.random.default_rng(1)
    counts = rng.multinomial(n, rng.dirichlet(np.ones(cells)))
    values = counts + np.round(rng.normal(0.0, sd, cells))
    posterior, ours = fit(values, n, sd, warmup, draws)
    shares = np.stack([posterior[f"p{cell}"] for cell in range(cells)], axis=-1)
    theirs, seconds = nuts(values, n, sd, warmup, draws)
    print(f"{cells} cells, n = {n:,}, noise of sd {sd:g}, 4 chains of {warmup} + {draws} iterations")
    rates = []
    for name, found, time_taken in [("SOMA", shares, ours), ("NUTS, relaxed", theirs, seconds)]:
        rates.append(smallest(found) / time_taken)
        print(
            f"  {name:14} {time_taken:8.2f} s   smallest ESS of a share {smallest(found):8.0f}"
            f"   {rates[-1]:10.1f} a second"
        )
    print(f"  ratio {rates[0] / rates[1]:.0f}")
    gap = np.abs(shares.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))).max()
    print(f"  largest difference of the mean of a share {gap:.5f}")


def exact(values, n, sd):
    """Weights of all tables of n records, and the tables."""
    cells = len(values)
    tables = np.array(
        [table for table in itertools.product(range(n + 1), repeat=cells) if sum(table) == n]
    )
    # With a flat prior of the shares all tables have the same prior probability.
    log = -0.5 * (((values - tables) / sd) ** 2).sum(axis=1)
    weights = np.exp(log - log.max())
    return weights / weights.sum(), tables


def small(values, n, sd, warmup, draws):
    values = np.asarray(values, dtype=float)
    weights, tables = exact(values, n, sd)
    posterior, _ = fit(values, n, sd, warmup, draws)
    shares, _ = nuts(values, n, sd, warmup, draws)
    rng = np.random.default_rng(2)
    counts = normal_counts(shares, values, n, sd, rng)
    cell = int(np.argmin(values))
    print(f"{len(values)} cells, n = {n}, noise of sd {sd:g}, published {values.astype(int).tolist()}")
    print(f"  the cell published as {values[cell]:.0f}:")
    ours = posterior[f"count[{cell}]"]
    mean = (weights * tables[:, cell]).sum()
    share = (weights * (tables[:, cell] + 1)).sum() / (n + len(values))
    zero = weights[tables[:, cell] == 0].sum()
    rows = [
        ("exact", mean, zero, 0.0, share),
        ("SOMA", ours.mean(), (ours == 0).mean(), (ours < 0).mean(), posterior[f"p{cell}"].mean()),
        (
            "NUTS, relaxed", counts[..., cell].mean(), (np.round(counts[..., cell]) == 0).mean(),
            (counts[..., cell] < -0.5).mean(), shares[..., cell].mean(),
        ),
    ]  # fmt: skip
    print(f"  {'':14} {'E count':>9} {'P(count = 0)':>13} {'P(count < 0)':>13} {'E share':>9}")
    for name, *numbers in rows:
        print(f"  {name:14} {numbers[0]:9.3f} {numbers[1]:13.3f} {numbers[2]:13.3f} {numbers[3]:9.4f}")
    assert math.isclose(weights.sum(), 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    args = parser.parse_args()
    speed(24, 10_000, 8.0, args.warmup, args.draws)
    small([11, 4, 1, -2], 14, 1.5, args.warmup, 5 * args.draws)


if __name__ == "__main__":
    main()
