"""The rival of `soma bench --mixing`: NUTS on (theta, noise), as a careful user would write it.

The regression problem of the grid with the records as functions of theta and standard noise (the
non-centred form), 500 draws of warm-up and 1,000 kept, one chain on one core, in double precision.
The time is that of the 1,000 draws alone on the core, compilation and warm-up not counted.

    python -m venv rival && rival/bin/pip install "jax[cpu]" numpyro
    soma bench --releases --problem regression --n 100,1000 --epsilon 3,30 --seeds 1 > releases.json
    taskset -c 0 rival/bin/python benches/nuts_rival.py releases.json

Prints one JSON object a line: n, epsilon, seed, ess_per_draw, ess_per_second, seconds.
"""

import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

numpyro.enable_x64()

CENTRE = jnp.array([0.9, -1.17])
WARMUP, DRAWS = 500, 1000


def model(n, scale, values):
    sigma2 = numpyro.sample("sigma2", dist.InverseGamma(10.0, 10.0))
    with numpyro.plate("coefficients", 3):
        beta = numpyro.sample("beta", dist.Normal(0.0, jnp.sqrt(sigma2 / 0.5)))
    noise = numpyro.sample("noise", dist.Normal(0.0, 1.0).expand([n, 3]).to_event(2))
    x = CENTRE + noise[:, :2]
    y = beta[0] + x @ beta[1:] + jnp.sqrt(sigma2) * noise[:, 2]
    x, y = jnp.clip(x / 6.0, -1.0, 1.0), jnp.clip(y / 6.0, -1.0, 1.0)
    x1, x2 = x[:, 0], x[:, 1]
    statistics = jnp.stack([y, x1 * y, x2 * y, y * y, x1, x2, x1 * x1, x1 * x2, x2 * x2])
    numpyro.sample("values", dist.Laplace(statistics.mean(axis=1), scale), obs=values)


def measure(release):
    data = (release["n"], release["scale"], jnp.array(release["values"]))
    mcmc = MCMC(NUTS(model), num_warmup=WARMUP, num_samples=DRAWS, progress_bar=False)
    mcmc.warmup(jax.random.key(release["seed"]), *data)
    mcmc.run(mcmc.last_state.rng_key, *data)  # compiles
    mcmc.post_warmup_state = mcmc.last_state
    started = time.process_time()
    mcmc.run(mcmc.last_state.rng_key, *data)
    jax.block_until_ready(mcmc.get_samples())
    seconds = time.process_time() - started
    draws = mcmc.get_samples(group_by_chain=True)
    theta = np.concatenate([draws["beta"], draws["sigma2"][..., None]], axis=-1)
    smallest = float(np.min(effective_sample_size(theta)))
    return {
        "n": release["n"],
        "epsilon": release["epsilon"],
        "seed": release["seed"],
        "ess_per_draw": smallest / DRAWS,
        "ess_per_second": smallest / seconds,
        "seconds": seconds,
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for release in json.load(file):
            print(json.dumps(measure(release)), flush=True)
