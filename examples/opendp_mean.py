"""From a release made with OpenDP to a posterior.

A curator holds 200 ages and releases their clamped sum with OpenDP's Laplace mechanism. Whoever
reads the release knows the clamping range, the noise scale and n, and wants the mean age.

    pip install opendp
    python examples/opendp_mean.py
"""

import numpy as np
import opendp.prelude as dp

import soma

LOW, HIGH, N, EPSILON = 0.0, 100.0, 200, 0.5


def release_with_opendp(ages: np.ndarray) -> tuple[float, float]:
    """The noisy clamped sum, and the scale of its noise."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=N), dp.symmetric_distance()
    clamped_sum = space >> dp.t.then_clamp((LOW, HIGH)) >> dp.t.then_sum()
    # Two data sets of size N that differ in one record are at symmetric distance 2.
    scale = clamped_sum.map(d_in=2) / EPSILON
    mechanism = clamped_sum >> dp.m.then_laplace(scale=scale)
    assert mechanism.map(d_in=2) <= EPSILON + 1e-6
    return mechanism(ages), scale


def main() -> soma.Posterior:
    ages = np.random.default_rng(1).normal(42.0, 15.0, size=N)  # the curator's secret
    noisy_sum, scale = release_with_opendp(ages)
    print(f"released: a sum of {noisy_sum:,.1f} over {N} records, noise scale {scale:,.1f}")

    release = soma.Release(
        query=soma.Mean(clamp=(LOW, HIGH)),
        statistic="sum",
        n=N,
        mechanism=soma.Laplace(scale=scale),
        values=[noisy_sum],
    )
    # Vague about the mean; a standard deviation somewhere around 15.
    prior = soma.NormalInverseGamma(mean=40.0, lambda_=0.01, shape=5.0, rate=1000.0)
    posterior = soma.fit(release, soma.Normal(prior=prior), draws=2000, seed=1)
    print(posterior.summary()[["mean", "sd", "q5", "q95", "rhat", "ess_bulk"]].round(3))
    print(f"the mean of the secret ages was {ages.mean():.2f}")
    return posterior


if __name__ == "__main__":
    main()
