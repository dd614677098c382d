"""Counts by SOMA and by a continuous relaxation with NUTS, in one run.

The rival is the model of NAPSU-MQ (Raisa, Jalko, Kaski and Honkela, AISTATS 2023) with one query for
each cell: the multinomial counts are taken for normal ones, so that given the shares p the noisy
counts are y ~ N(n p, n (diag p - p p') + sd^2 I), and NUTS samples p. The prior of p is flat, as in
SOMA's model. NumPyro, 64 bits, four chains one after the other. Both clocks count the processor time of
the process, so that a busy machine does not matter, and have warm-up and draws; compilation is shown
apart. The relaxation is taken as it is published, and once more with its density simplified by hand.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false python scripts/rivals/counts_numpyro.py

(one thread; it needs soma, and numpyro: pip install numpyro "jax[cpu]")

prints effective draws a second of both on tables of several sizes, with the largest difference of the
posterior mean of a share, and a small table of counts where the relaxation is wrong, beside exact
answers by enumeration.
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
from numpyro.infer import NUTS

import soma

jax.config.update("jax_enable_x64", True)
numpyro.set_host_device_count(1)


def published(values, n, sd):
    """The relaxation as it is written down: normal counts, integrated out."""
    shares = numpyro.sample("p", dist.Dirichlet(jnp.ones(len(values))))
    counts = n * (jnp.diag(shares) - jnp.outer(shares, shares))
    noise = sd**2 * jnp.eye(len(values))
    numpyro.sample("y", dist.MultivariateNormal(n * shares, counts + noise), obs=values)


def by_hand(values, n, sd):
    """The same at the cost of the cells, without a Cholesky factor.

    The covariance is a diagonal matrix d = n p + sd^2 less n p p': its determinant and inverse follow
    by Sherman and Morrison. This works where every cell is published, with the same noise, and only
    there; the sampler of counts takes margins too.
    """
    shares = numpyro.sample("p", dist.Dirichlet(jnp.ones(len(values))))
    d = n * shares + sd**2
    rest = 1.0 - n * jnp.sum(shares**2 / d)
    gap = values - n * shares
    square = jnp.sum(gap**2 / d) + n * jnp.sum(gap * shares / d) ** 2 / rest
    numpyro.factor("y", -0.5 * (square + jnp.sum(jnp.log(d)) + jnp.log(rest)))


def nuts(model, values, n, sd, draws):
    """Draws of the shares, (chain, draw, cell), of four chains with as many draws of warm-up; the
    seconds of compilation, and of warm-up and draws."""
    args = (jnp.asarray(values, dtype=float), float(n), float(sd))
    kernel = NUTS(model)
    start = kernel.init(jax.random.PRNGKey(0), draws, None, args, {})
    constrain = kernel.postprocess_fn(args, {})

    def step(state, _):
        state = kernel.sample(state, args, {})
        return state, constrain(state.z)["p"]

    many = jax.jit(lambda state: jax.lax.scan(step, state, None, length=draws))
    begun = time.process_time()
    many = many.lower(start).compile()
    compiled, chains = time.process_time(), []
    for chain in range(4):
        state = start._replace(rng_key=jax.random.PRNGKey(chain + 1))
        state, _ = many(state)
        chains.append(np.asarray(many(state)[1]))
    return np.stack(chains), compiled - begun, time.process_time() - compiled


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


def fit(values, n, sd, draws):
    """SOMA's posterior, and the seconds of warm-up and draws."""
    begun = time.process_time()
    release = soma.Release(
        query=soma.Categories(), statistic="sum", n=n,
        mechanism=soma.DiscreteGaussian(scale=sd), values=[int(value) for value in values],
    )  # fmt: skip
    model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    options = dict(warmup=draws, draws=draws, threads=1, progress=False)
    posterior = soma.fit(release, model, **options)
    return posterior, time.process_time() - begun


def smallest(draws):
    """The smallest effective number of draws of the columns of (chain, draw, column)."""
    return float(np.min(effective_sample_size(np.asarray(draws))))


SIZES = [
    # cells, n, sd of the noise
    (24, 100, 8.0),
    (24, 100, 200.0),
    (24, 10_000, 0.5),
    (24, 10_000, 8.0),
    (24, 10_000, 200.0),
    (24, 1_000_000, 8.0),
    (24, 1_000_000, 2000.0),
    (4, 10_000, 8.0),
    (200, 100_000, 8.0),
]


def speed(cells, n, sd, draws, models):
    rng = np.random.default_rng(1)
    counts = rng.multinomial(n, rng.dirichlet(np.ones(cells)))
    values = counts + np.round(rng.normal(0.0, sd, cells))
    fit(values, n, sd, 50)  # What the first fit loads is not counted.
    posterior, seconds = fit(values, n, sd, draws)
    shares = np.stack([posterior[f"p{cell}"] for cell in range(cells)], axis=-1)
    rate = smallest(shares) / seconds
    size = f"{cells:5} {n:9,} {sd:6g}"
    print(f"{size}  {'SOMA':20} {seconds:8.2f} {smallest(shares):6.0f} {rate:8.0f}", flush=True)
    for name, model in models:
        found, compilation, seconds = nuts(model, values, n, sd, draws)
        ess = smallest(found)
        own, whole = ess / seconds, ess / (compilation + seconds)
        gap = np.abs(shares.mean(axis=(0, 1)) - found.mean(axis=(0, 1))).max()
        print(
            f"{size}  {name:20} {seconds:8.2f} {ess:6.0f} {own:8.0f} {rate / own:8.1f}"
            f" {compilation:8.2f} {whole:8.0f} {rate / whole:8.1f} {gap:9.5f}",
            flush=True,
        )


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


def small(values, n, sd, draws):
    values = np.asarray(values, dtype=float)
    weights, tables = exact(values, n, sd)
    posterior, _ = fit(values, n, sd, draws)
    shares, _, _ = nuts(by_hand, values, n, sd, draws)
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
    parser.add_argument("--draws", type=int, default=1000)
    args = parser.parse_args()
    print(f"4 chains of {args.draws} + {args.draws} iterations; ratio: SOMA's ESS/s over the row's")
    print(
        f"{'cells':>5} {'n':>9} {'sd':>6}  {'':20} {'CPU s':>8} {'ESS':>6} {'ESS/s':>8} {'ratio':>8}"
        f" {'compile':>8} {'ESS/s':>8} {'ratio':>8} {'gap':>9}"
    )
    models = [("NUTS, as published", published), ("NUTS, by hand", by_hand)]
    for cells, n, sd in SIZES:
        # As published a step factors a matrix of the cells: minutes for hundreds of cells.
        speed(cells, n, sd, args.draws, models if cells < 100 else models[1:])
    small([11, 4, 1, -2], 14, 1.5, 5 * args.draws)


if __name__ == "__main__":
    main()
