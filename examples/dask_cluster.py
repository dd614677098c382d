"""Chains on a Dask cluster: here two worker processes of this machine.

    pip install "dask[distributed]"
    python examples/dask_cluster.py [scheduler-address]
"""

import sys

from dask.distributed import Client, LocalCluster

import soma


def main(address: str | None = None) -> soma.Posterior:
    release = soma.Release(
        query=soma.LogSum(clamp=(0.0006944, 1.0)),
        statistic="mean",
        n=3528,
        mechanism=soma.Laplace(epsilon=10.0),
        values=[-0.9118530751, -3.3123451150, -0.6333451163],
    )
    model = soma.Dirichlet(3, prior=soma.Gamma(1.0, 0.1))
    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        executor = client.get_executor()
        posterior = soma.fit(release, model, warmup=100, draws=200, seed=1, executor=executor)
    print(posterior)
    return posterior


if __name__ == "__main__":
    main(*sys.argv[1:])
