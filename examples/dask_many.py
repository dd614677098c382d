"""Many fits on a Dask cluster: here two worker processes of this machine.

    pip install "dask[distributed]"
    python examples/dask_many.py [number-of-fits] [scheduler-address]
"""

from __future__ import annotations

import sys

import numpy as np
from dask.distributed import Client, LocalCluster

import soma


def table(seed: int) -> tuple[soma.Release, soma.Categorical]:
    """A table of 24 counts, released with discrete Laplace noise."""
    rng = np.random.default_rng(seed)
    cells = rng.multinomial(240, rng.dirichlet(np.full(24, 2.0)))
    noise = rng.geometric(0.4, size=24) - rng.geometric(0.4, size=24)
    release = soma.Release(
        query=soma.Categories([f"c{cell}" for cell in range(24)]),
        statistic="sum",
        n=240,
        mechanism=soma.DiscreteLaplace(scale=2.0),
        values=(cells + noise).tolist(),
    )
    return release, soma.Categorical(prior=soma.DirichletPrior(1.0))


def main(count: int = 20, address: str | None = None) -> soma.Fits:
    fits = {f"table-{seed:04}": table(seed) for seed in range(count)}
    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        many = soma.fit_many(
            fits, executor=client.get_executor(), keep_draws=False, warmup=300, draws=1000
        )
    print(many)
    bad = many.results[many.results["verdict"] != "trusted"]
    for name, reasons in bad.groupby("name")["reasons"].first().items():
        print(f"{name}: {reasons}")
    return many


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:2]), *sys.argv[2:])
