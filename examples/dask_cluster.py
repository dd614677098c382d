"""Chains on a Dask cluster: here two worker processes of this machine.

    pip install "dask[distributed]"
    python examples/dask_cluster.py [scheduler-address]
"""

import sys

from dask.distributed import Client, LocalCluster

import soma


def main(address: str | None = None) -> soma.Posterior:
    release = soma.Release(
        query=soma.Mean(clamp=(120.0, 220.0)),
        statistic="mean",
        n=200,
        mechanism=soma.Gaussian(rho=0.5),
        values=[171.3],
    )
    prior = soma.NormalInverseGamma(mean=165.0, lambda_=0.01, shape=5.0, rate=400.0)
    model = soma.Normal(prior=prior)
    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        executor = client.get_executor()
        posterior = soma.fit(release, model, chains=8, seed=1, executor=executor)
    print(posterior)
    return posterior


if __name__ == "__main__":
    main(*sys.argv[1:])
