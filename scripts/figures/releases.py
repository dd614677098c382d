"""The figures of the pages "I have this release": each fits the first spec of its page.

    python scripts/figures/releases.py [counts mean regression table parts unknown-n randomised-response synthetic-records]
"""

import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import book  # noqa: E402
import soma  # noqa: E402
import style  # noqa: E402


def fitted(name, **options):
    """The spec of a page, and its posterior."""
    page = f"docs/release-{name}.md"
    if not (book.ROOT / page).exists():
        page = f"docs/{name}.md"
    text = (book.ROOT / page).read_text(encoding="utf-8")
    spec = soma.parse_spec(next(b.text for b in book.blocks(page, text) if b.language == "toml"))
    return spec, spec.fit(progress=False, **options)


def interval_rows(axis, labels, published, noise, posterior, names):
    """For each label: the published value with 1.645 noise scales around it, and the posterior's 90%."""
    summary = posterior.summary()
    for row, (label, name) in enumerate(zip(labels, names)):
        if published[row] is not None:
            half = 1.645 * noise[row]
            ends = [published[row] - half, published[row] + half]
            axis.plot(ends, [row - 0.15] * 2, color=style.PLUG_IN, lw=2, alpha=0.6)
            axis.plot(published[row], row - 0.15, "x", color=style.PLUG_IN)
        axis.plot(summary.loc[name, ["q5", "q95"]], [row + 0.15] * 2, color=style.SOMA, lw=3)
        axis.plot(summary.loc[name, "q50"], row + 0.15, "o", color=style.SOMA)
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.set_xlabel("count")


def legend(figure, entries):
    lines = [style.plt.Line2D([], [], color=colour, lw=3, linestyle=line) for colour, line, _ in entries]
    labels = [label for _, _, label in entries]
    figure.tight_layout()
    figure.legend(lines, labels, loc="upper center", ncols=len(entries), bbox_to_anchor=(0.5, 0.0))


def counts():
    spec, posterior = fitted("counts")
    labels = ["none", "mild", "moderate", "severe"]
    figure, axis = style.plt.subplots(figsize=(7, 2.8))
    interval_rows(axis, labels, [64, 9, 0, 6], [5] * 4, posterior, [f"count[{label}]" for label in labels])
    for row, truth in enumerate([58, 15, 5, 2]):
        axis.plot([truth] * 2, [row - 0.35, row + 0.35], color=style.TRUTH, lw=1.2)
    axis.axvline(0, color="#bbbbbb", lw=0.8)
    legend(
        figure,
        [
            (style.PLUG_IN, "-", "published, and the noise"),
            (style.SOMA, "-", "SOMA, 90%"),
            (style.TRUTH, "-", "the truth"),
        ],
    )
    return figure


def densities(axis, x, curves):
    for values, colour, line in curves:
        density = values if values.shape == x.shape else stats.gaussian_kde(values.ravel())(x)
        axis.plot(x, density, color=colour, linestyle=line, lw=2)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


def mean():
    _, posterior = fitted("mean")
    x = np.linspace(20, 70, 400)
    rate = stats.gamma(1, scale=1 / 10)
    exact = stats.gamma(201, scale=1 / (10 + 200 * 33.1))
    figure, axis = style.plt.subplots(figsize=(7, 2.6))
    curves = [
        (rate.pdf(1 / x) / x**2, "#999999", ":"),
        (exact.pdf(1 / x) / x**2, style.PLUG_IN, "--"),
        (1 / posterior["rate"], style.SOMA, "-"),
    ]
    densities(axis, x, curves)
    axis.axvline(40, color=style.TRUTH, lw=1)
    axis.set_xlabel("mean income, thousands")
    legend(figure, said())
    low, high = 1 / exact.ppf([0.95, 0.05])
    print(f"plug-in, 90%: {low:.1f} to {high:.1f}")
    return figure


def said():
    return [
        ("#999999", ":", "prior"),
        (style.PLUG_IN, "--", "noise and clamping ignored"),
        (style.SOMA, "-", "SOMA"),
        (style.TRUTH, "-", "the truth"),
    ]


def regression():
    spec, posterior = fitted("regression")
    y, xy, yy, x1, xx = spec.release.values
    slope = (xy - x1 * y) / (xx - x1**2)
    left = max(yy - y**2 - slope**2 * (xx - x1**2), 1e-9)
    error = np.sqrt(left / (500 * (xx - x1**2))) * 50 / 31
    x = np.linspace(-1.0, 2.5, 400)
    prior = stats.t(6, loc=0.0, scale=np.sqrt(200 / 3 / 25))
    figure, axis = style.plt.subplots(figsize=(7, 2.6))
    curves = [
        (prior.pdf(x), "#999999", ":"),
        (stats.norm(slope * 50 / 31, error).pdf(x), style.PLUG_IN, "--"),
        (posterior["beta1"], style.SOMA, "-"),
    ]
    densities(axis, x, curves)
    axis.axvline(0.6, color=style.TRUTH, lw=1)
    axis.set_xlabel("slope: mmHg per year of age")
    legend(figure, said())
    print(f"least squares on the noisy means: {slope * 50 / 31:.2f}, standard error {error:.3f}")
    return figure


def table():
    _, posterior = fitted("table")
    ages = ["16-29", "30-64", "65+"]
    cells = [f"{sex},{age}" for sex in ("men", "women") for age in ages]
    labels = [cell.replace(",", " ") for cell in cells] + [f"all {age}" for age in ages]
    names = [f"count[{cell}]" for cell in cells] + [f"count[*,{age}]" for age in ages]
    published = [812, 433, 127, 789, 520, 201, 1604, 951, 330]
    noise = [20] * 6 + [5] * 3
    figure, axis = style.plt.subplots(figsize=(7, 3.4))
    centre = [posterior.summary().loc[name, "q50"] for name in names]
    for row, (label, value, scale, name, middle) in enumerate(zip(labels, published, noise, names, centre)):
        ends = posterior.summary().loc[name, ["q5", "q95"]] - middle
        axis.plot([value - middle - 1.645 * scale, value - middle + 1.645 * scale], [row - 0.15] * 2,
                  color=style.PLUG_IN, lw=2, alpha=0.6)  # fmt: skip
        axis.plot(value - middle, row - 0.15, "x", color=style.PLUG_IN)
        axis.plot(ends, [row + 0.15] * 2, color=style.SOMA, lw=3)
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.set_xlabel("difference from the posterior median")
    legend(figure, [(style.PLUG_IN, "-", "published, and its noise"), (style.SOMA, "-", "SOMA, 90%")])
    return figure


def parts():
    _, posterior = fitted("parts")
    x = np.linspace(5, 12, 400)
    exact = stats.gamma(2 + 203, scale=1 / (10 + 1648.2))
    figure, axis = style.plt.subplots(figsize=(7, 2.4))
    densities(
        axis, x, [(exact.pdf(1 / x) / x**2, style.PLUG_IN, "--"), (posterior["mean hours"], style.SOMA, "-")]
    )
    axis.axvline(1648.2 / 203, color=style.PLUG_IN, lw=1)
    axis.set_xlabel("mean hours of a person")
    low, high = 1 / exact.ppf([0.95, 0.05])
    print(f"published numbers taken as exact, 90%: {low:.1f} to {high:.1f}")
    legend(figure, [(style.PLUG_IN, "--", "published numbers taken as exact"), (style.SOMA, "-", "SOMA")])
    return figure


def unknown_n():
    _, posterior = fitted("unknown-n", draws=5000)
    yes, no = np.meshgrid(np.arange(200.0), np.arange(200.0), indexing="ij")
    n = yes + no
    weight = np.exp(-abs(yes - 12) / 2 - abs(no - 3) / 2 - abs(n - 18) - np.log(n + 1))
    weight /= weight.sum()
    values = np.arange(10, 27)
    figure, axis = style.plt.subplots(figsize=(7, 2.6))
    axis.bar(values, [(posterior["n"] == v).mean() for v in values], color=style.SOMA, alpha=0.5, width=0.7)
    axis.plot(values, [weight[n == v].sum() for v in values], "o", color=style.TRUTH, markersize=4)
    axis.set_xticks(values[::2])
    axis.set_xlabel("number of answers")
    axis.set_ylabel("probability")
    legend(figure, [(style.SOMA, "-", "draws"), (style.TRUTH, ":", "exact")])
    return figure


def randomised_response():
    _, posterior = fitted("randomised-response")
    x = np.linspace(0.05, 0.45, 400)
    figure, axis = style.plt.subplots(figsize=(7, 2.4))
    reports = stats.beta(342, 660)
    densities(axis, x, [(reports.pdf(x), style.PLUG_IN, "--"), (posterior["p[yes]"], style.SOMA, "-")])
    axis.set_xlabel("share of yes")
    low, high = reports.ppf([0.05, 0.95])
    print(f"reports taken for true answers, 90%: {low:.3f} to {high:.3f}")
    legend(figure, [(style.PLUG_IN, "--", "reports taken for true answers"), (style.SOMA, "-", "SOMA")])
    return figure


def synthetic_records():
    spec, posterior = fitted("synthetic-records")
    labels, values = ["north", "east", "south", "west"], np.array(spec.release.values)
    taken = stats.beta(1 + values, 3 + values.sum() - values)
    figure, axis = style.plt.subplots(figsize=(7, 2.6))
    summary = posterior.summary()
    for row, label in enumerate(labels):
        low, middle, high = (taken.ppf(level)[row] for level in (0.05, 0.5, 0.95))
        print(f"{label}, synthetic records taken for data, 90%: {low:.3f} to {high:.3f}")
        axis.plot([low, high], [row - 0.15] * 2, color=style.PLUG_IN, lw=2, alpha=0.6)
        axis.plot(middle, row - 0.15, "x", color=style.PLUG_IN)
        axis.plot(summary.loc[f"p[{label}]", ["q5", "q95"]], [row + 0.15] * 2, color=style.SOMA, lw=3)
        axis.plot(summary.loc[f"p[{label}]", "q50"], row + 0.15, "o", color=style.SOMA)
    axis.set_yticks(range(4), labels)
    axis.invert_yaxis()
    axis.set_xlabel("share")
    entries = [(style.PLUG_IN, "-", "synthetic records taken for data, 90%"), (style.SOMA, "-", "SOMA, 90%")]
    legend(figure, entries)
    return figure


def main():
    drawn = {
        "counts": counts,
        "mean": mean,
        "regression": regression,
        "table": table,
        "parts": parts,
        "unknown-n": unknown_n,
        "randomised-response": randomised_response,
        "synthetic-records": synthetic_records,
    }
    for name in sys.argv[1:] or drawn:
        style.write(drawn[name](), f"release-{name}")


if __name__ == "__main__":
    main()
