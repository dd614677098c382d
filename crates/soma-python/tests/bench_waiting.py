"""Prints what docs/python.md says of mistakes in its example, and of the example at n = 500.

    python crates/soma-python/tests/bench_waiting.py

Some minutes: 300 replications of each calibration.
"""

import re
from pathlib import Path

import numpy as np

import soma

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def waiting():
    """The class of the page."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if "class Waiting" in block)
    names = {"np": np, "soma": soma}
    exec(block[: block.index("release = ")], names)
    return names["Waiting"]


Waiting = waiting()


class WrongUpdate(Waiting):
    """Takes the prior standard deviation of mu to be 1 instead of 2, in update alone."""

    def update(self, theta, records, rng):
        class Other(Waiting):
            def log_prior(self, theta):
                return -theta[0] ** 2 / 2.0 - theta[1] ** 2 / 2.0

        return Other().update(theta, records, rng)


class WrongTransport(Waiting):
    """Forgets the scale."""

    def transport(self, records, theta, new_theta):
        return records * np.exp(new_theta[0] - theta[0])


def release(n, value):
    return soma.Release(
        query=soma.Mean(clamp=(0.0, 20.0)),
        statistic="mean",
        n=n,
        mechanism=soma.Laplace(epsilon=2.0),
        values=[value],
    )


def main():
    for model, moves in [
        (WrongUpdate(), "auto"),
        (WrongUpdate(), "centred"),
        (WrongTransport(), "auto"),
    ]:
        found = soma.calibrate(release(5, 0.0), model, moves=moves, replications=300, seed=1)
        print(f"{type(model).__name__:15} {moves:8} p-value {found.p_value:.2g}")
    posterior = soma.fit(release(500, 2.3), Waiting(), warmup=2000, draws=10_000, seed=1)
    effective = posterior.summary()["ess_bulk"].min() / posterior["mu"].size
    print(f"effective draws per sweep at n = 500: {effective:.4f}")


if __name__ == "__main__":
    main()
