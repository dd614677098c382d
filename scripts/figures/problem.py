"""The figure of the README: what the plug-in answer says, and what SOMA says, of simulated releases.

    python scripts/figures/problem.py [RELEASES]

simulates RELEASES (400) releases of each of two kinds, fits them, prints how often the 90% intervals
cover the truth, and draws the first 30 of each in docs/figures/problem.svg.
"""

import sys

import numpy as np
from scipy import stats

import soma
import style

SETTINGS = {"chains": 2, "warmup": 300, "draws": 500, "progress": False, "keep_draws": False}
SHOWN = 30


def counts(rng):
    """Of 50 people one in ten says yes. Both counts get discrete Gaussian noise of scale 6, and are clamped at 0."""
    yes = rng.binomial(50, 0.1)
    whole = np.arange(-80, 81)
    noise = rng.choice(whole, 2, p=np.exp(-(whole**2) / 72) / np.exp(-(whole**2) / 72).sum())
    values = np.maximum([yes, 50 - yes] + noise, 0).tolist()
    release = soma.Release(
        query=soma.Categories(["yes", "no"]),
        statistic="sum",
        n="unknown",
        values=values,
        mechanism=soma.DiscreteGaussian(scale=6.0, clamp=(0, np.inf)),
    )
    model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    return (release, model), stats.beta(1 + values[0], 1 + values[1]).ppf([0.05, 0.95])


def mean(rng):
    """200 incomes with mean 40, clamped to 0 to 100; their mean gets Laplace noise at epsilon 0.2."""
    incomes = np.clip(rng.exponential(40.0, 200), 0.0, 100.0)
    value = incomes.mean() + rng.laplace(0.0, 100.0 / 200 / 0.2)
    release = soma.Release(
        query=soma.Mean(clamp=(0.0, 100.0)),
        statistic="mean",
        n=200,
        values=[value],
        mechanism=soma.Laplace(epsilon=0.2),
    )
    model = soma.Exponential(prior=soma.Gamma(1.0, 10.0))
    return (release, model), 1.0 / stats.gamma(201, scale=1.0 / (10.0 + 200 * value)).ppf([0.95, 0.05])


def intervals(simulate, parameter, releases):
    """90% intervals of the plug-in answer and of SOMA, each an array (release, 2)."""
    rng = np.random.default_rng(2026)
    pairs = [simulate(rng) for _ in range(releases)]
    fits = soma.fit_many({f"{i:05}": problem for i, (problem, _) in enumerate(pairs)}, **SETTINGS)
    results = fits.results[fits.results["parameter"] == parameter].sort_values("name")
    return np.array([plug_in for _, plug_in in pairs]), results[["q5", "q95"]].to_numpy()


def panel(axis, plug_in, ours, truth):
    """Intervals side by side: those that miss the truth are drawn in full colour, the others pale."""
    for offset, colour, ends in [(-0.18, style.PLUG_IN, plug_in), (0.18, style.SOMA, ours)]:
        for i, (low, high) in enumerate(ends[:SHOWN]):
            missed = not low <= truth <= high
            axis.plot(
                [i + offset] * 2, [low, high], color=colour, alpha=1.0 if missed else 0.45, lw=3.2 if missed else 2.2
            )
    axis.axhline(truth, color=style.TRUTH, lw=1)
    axis.set_xticks([])
    axis.set_xlabel(f"{SHOWN} simulated releases")


def main():
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    figure, axes = style.plt.subplots(1, 2, figsize=(10, 3.4))
    cases = [
        ("noisy counts, clamped at 0", "share who say yes", counts, "p[yes]", 0.1),
        ("a noisy mean of clamped incomes", "mean income", mean, "rate", 40.0),
    ]
    for axis, (title, label, simulate, parameter, truth) in zip(axes, cases):
        plug_in, ours = intervals(simulate, parameter, releases)
        if parameter == "rate":
            ours = 1.0 / ours[:, ::-1]
        panel(axis, plug_in, ours, truth)
        axis.set_title(title)
        axis.set_ylabel(label)
        covered = [((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() for ends in (plug_in, ours)]
        print(f"{title}: of {releases} intervals of 90% the plug-in's cover {covered[0]:.1%}, SOMA's {covered[1]:.1%}")
    figure.tight_layout()
    lines = [style.plt.Line2D([], [], color=c, lw=3) for c in (style.PLUG_IN, style.SOMA)]
    lines.append(style.plt.Line2D([], [], color=style.TRUTH, lw=1))
    labels = ["noise and clamping ignored", "SOMA", "the truth"]
    figure.legend(lines, labels, loc="upper center", ncols=3, bbox_to_anchor=(0.5, 0.0))
    style.write(figure, "problem")


if __name__ == "__main__":
    main()
