"""Prints how much slower a model in NumPy is than the same model in Rust, at n = 10,000.

    python crates/soma-python/tests/bench_custom.py

The two run in turn, one thread each, and the fastest of several turns of each counts, so that
other work on the machine matters little. Both take the same kernel and the same moves: the
centred update, and the interwoven moves that `transport` allows. The kernel is the one whose moves
are cheapest in Rust, so that the ratio is the worst.
"""

import time

import numpy as np
from conftest import CarriedNormal

import soma

N, TURNS, WARMUP, DRAWS = 10_000, 5, 30, 60


def release():
    return soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=N,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[0.4],
    )


def seconds(model, **options):
    start = time.perf_counter()
    soma.fit(
        release(), model, chains=1, warmup=WARMUP, draws=DRAWS, threads=1, progress=False, **options
    )
    return (time.perf_counter() - start) / (WARMUP + DRAWS)


def main():
    rust = soma.Normal(
        prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0)
    )
    print(f"n = {N:,}; milliseconds an iteration, the best of {TURNS}")
    print(f"{'kernel':12} {'moves':12} {'Rust':>8} {'NumPy':>8} {'ratio':>6}")
    for moves in ("centred", "interwoven"):
        options = dict(kernel="sys-imwg", moves=moves)
        turns = [
            (seconds(rust, **options), seconds(CarriedNormal(), **options)) for _ in range(TURNS)
        ]
        fast, slow = 1e3 * np.array(turns).min(axis=0)
        print(f"{'sys-imwg':12} {moves:12} {fast:8.2f} {slow:8.2f} {slow / fast:6.2f}")


if __name__ == "__main__":
    main()
