"""The laws of releases are those of the tools: 20,000 draws of each against our densities."""

import math

import numpy as np
import pytest

import soma

DRAWS = 20_000
THRESHOLD = 1e-6


def release(mechanism, query=None, statistic="sum", values=(0,), n=1):
    query = query or soma.Count()
    return soma.Release(
        query=query, mechanism=mechanism, statistic=statistic, values=values, n=n
    )._native()


def chi_square_tail(x, df):
    """P(chi-square >= x), by Wilson and Hilferty: good to a factor of 2 at 1e-6."""
    z = ((x / df) ** (1 / 3) - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df))
    return 0.5 * math.erfc(z / math.sqrt(2))


def p_value(frequencies, probabilities):
    """Of cells with their probabilities; those with few expected draws are one cell, with the rest."""
    observed, expected = np.array(frequencies, float), DRAWS * np.array(probabilities)
    large = expected >= 10
    assert large.sum() >= 2
    others = DRAWS - observed[large].sum(), DRAWS - expected[large].sum()
    statistic = ((observed[large] - expected[large]) ** 2 / expected[large]).sum()
    cells = large.sum()
    if others[1] >= 5:
        statistic += (others[0] - others[1]) ** 2 / others[1]
        cells += 1
    elif others[0] > others[1] + 6 * math.sqrt(others[1] + 1) + 6:
        return 0.0
    return chi_square_tail(statistic, cells - 1)


def compare(draws, points, native, truth):
    """Draws on a lattice against the density at its points."""
    mass = [math.exp(native.log_density([y], [truth])) for y in points]
    frequencies = [np.isclose(draws, y, rtol=0, atol=1e-9).sum() for y in points]
    return p_value(frequencies, mass)


def compare_bins(draws, edges, density):
    """Continuous draws in bins against the integral of the density (Simpson's rule)."""
    def integral(low, high):
        x = np.linspace(low, high, 41)
        w = np.ones(41)
        w[1:-1:2], w[2:-1:2] = 4, 2
        return (w * [density(point) for point in x]).sum() * (high - low) / 120

    mass = [integral(low, high) for low, high in zip(edges[:-1], edges[1:])]
    return p_value(np.histogram(draws, edges)[0], mass)


@pytest.fixture(scope="module")
def dp():
    dp = pytest.importorskip("opendp.prelude", reason="needs OpenDP")
    dp.enable_features("contrib")
    return dp


@pytest.mark.parametrize("scale", [0.7, 3.0])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_opendp_integers(dp, law, scale):
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int if law == "laplace" else float)
    measure = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    noisy = measure(*space, scale=scale)
    draws = np.array([noisy(40) for _ in range(DRAWS)])
    ours = soma.DiscreteLaplace if law == "laplace" else soma.DiscreteGaussian
    points = np.arange(0, 81)
    assert compare(draws, points, release(ours(scale=scale)), 40) > THRESHOLD
    other = soma.RoundedLaplace if law == "laplace" else soma.DiscreteLaplace
    if scale < 1:
        assert compare(draws, points, release(other(scale=scale)), 40) < THRESHOLD


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_opendp_floats_on_a_lattice(dp, law):
    """`k=-1`: multiples of 1/2, of a truth that is not one."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measure = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    noisy = measure(*space, scale=0.8, k=-1)
    draws = np.array([noisy(10.3) for _ in range(DRAWS)])
    assert np.array_equal(draws * 2, np.round(draws * 2))
    ours = soma.DiscreteLaplace if law == "laplace" else soma.DiscreteGaussian
    mean = soma.Mean(clamp=(0.0, 100.0))
    points = np.arange(0.0, 20.5, 0.5)
    for granularity, fits in ((0.5, True), (0.25, False)):
        native = release(ours(scale=0.8, granularity=granularity), mean)
        assert (compare(draws, points, native, 10.3) > THRESHOLD) == fits


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_opendp_floats(dp, law):
    """Without `k`, noise is continuous for all that can be seen."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measure = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    noisy = measure(*space, scale=0.8)
    draws = np.array([noisy(10.3) for _ in range(DRAWS)])
    mean = soma.Mean(clamp=(0.0, 100.0))
    edges = 10.3 + 0.8 * np.array([-4, -2, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 2, 4])
    for ours in (soma.Laplace, soma.Gaussian):
        native = release(ours(scale=0.8), mean)
        density = lambda y: math.exp(native.log_density([y], [10.3]))  # noqa: B023, E731
        fits = ours is (soma.Laplace if law == "laplace" else soma.Gaussian)
        assert (compare_bins(draws, edges, density) > THRESHOLD) == fits


@pytest.mark.parametrize("categories", [2, 4])
def test_opendp_randomised_response(dp, categories):
    """The true counts behind 20,000 reports, which are known here, are within the posterior; under another
    probability they are not."""
    names = list(range(categories))
    report = dp.m.make_randomized_response(names, prob=0.6)
    truth = [7 * DRAWS // 10] + [DRAWS // 10] * (categories - 1)
    truth[-1] = DRAWS - sum(truth[:-1])
    reports = np.array([report(c) for c in names for _ in range(truth[c])])
    values = [int((reports == c).sum()) for c in names]
    query = soma.Categories([str(c) for c in names])
    for prob, fits in ((0.6, True), (0.5 if categories > 2 else 0.7, False)):
        mechanism = soma.RandomisedResponse(prob=prob)
        release = soma.Release(query=query, mechanism=mechanism, values=values, n=DRAWS)
        model = soma.Categorical(soma.DirichletPrior(1.0))
        counts = soma.fit(release, model, draws=500, seed=1, progress=False)["count[0]"]
        away = abs(counts.mean() - truth[0]) / counts.std()
        assert (away < 4.5) == fits, (away, values)


@pytest.fixture(scope="module")
def grouped(dp):
    """A function that answers a query in 20,000 groups of the same records, with OpenDP's Polars front."""
    polars = pytest.importorskip("polars", reason="needs OpenDP with Polars")

    def answers(records, make, keys="keys", **loss):
        data = {"k": np.repeat(np.arange(DRAWS), len(records)), "x": records * DRAWS}
        context = dp.Context.compositor(
            data=polars.LazyFrame(data),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(**loss),
            split_evenly_over=1,
            margins=[
                dp.polars.Margin(by=["k"], invariant=keys, max_length=20, max_groups=DRAWS)
            ],
        )
        column = polars.col("x").fill_null(0.0).fill_nan(0.0).dp
        query = context.query().group_by("k").agg(make(column, dp))
        return query.summarize(), query.release().collect()

    return answers


@pytest.mark.parametrize("loss", [{"epsilon": 0.7}, {"rho": 0.1}])
def test_opendp_counts_are_clamped_at_zero(grouped, loss):
    summary, result = grouped([1.0, 1.0], lambda column, dp: dp.len(), **loss)
    ours = soma.DiscreteLaplace if "epsilon" in loss else soma.DiscreteGaussian
    for clamp, fits in (((0, math.inf), True), (None, False)):
        native = release(ours(scale=summary["scale"][0], clamp=clamp))
        found = compare(result["len"].to_numpy(), np.arange(0, 40), native, 2)
        assert (found > THRESHOLD) == fits


def test_opendp_counts_up_to_the_threshold_are_not_shown(grouped):
    records = [1.0] * 14
    summary, result = grouped(
        records, lambda column, dp: dp.len(), keys=None, epsilon=1.0, delta=1e-6
    )
    threshold = float(summary["threshold"][0])
    shown = result["len"].to_numpy()
    draws = np.concatenate([shown, np.full(DRAWS - len(shown), threshold)])
    for tau, fits in ((threshold, True), (threshold - 1, False)):
        native = release(soma.DiscreteLaplace(scale=summary["scale"][0], threshold=tau), values=[99], n=100)
        points = np.arange(threshold, threshold + 30)
        assert (compare(draws, points, native, len(records)) > THRESHOLD) == fits


def test_opendp_means_are_ratios(grouped):
    records = [0.2, 0.5, 0.9, 1.0, 0.3, 0.4, 0.8, 0.1]
    summary, result = grouped(records, lambda column, dp: column.mean((0.0, 1.0)), epsilon=4.0)
    above, below = summary["scale"]
    edges = np.array([-0.5, 0.0, 0.2, 0.35, 0.45, 0.5, 0.55, 0.65, 0.8, 1.0, 1.5])
    for factor, fits in ((1.0, True), (2.0, False)):
        law = soma.Ratio(soma.Laplace(scale=above), soma.DiscreteLaplace(scale=factor * below))
        native = soma.Release(
            query=soma.Mean(clamp=(0.0, 1.0)), mechanism=law, values=[0.5], n=len(records)
        )._native()
        sums = [sum(records), float(len(records))]
        density = lambda y: math.exp(native.log_density([y], sums))  # noqa: B023, E731
        assert (compare_bins(result["x"].to_numpy(), edges, density) > THRESHOLD) == fits


@pytest.mark.parametrize("pure", [True, False])
def test_opendp_quantiles(dp, pure):
    records, candidates = [1.0] * 3 + [2.0] * 4 + [3.0] * 5, [1.5, 2.5, 3.5]
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    chosen = dp.m.make_private_quantile(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance(), measure,
        candidates=candidates, alpha=0.5, scale=4.0,
    )  # fmt: skip
    draws = np.array([chosen(records) for _ in range(DRAWS)])
    sums = [side for c in candidates for side in (_below(records, c), _above(records, c))]
    laws = soma.PermuteAndFlip(4.0), soma.ExponentialMechanism(4.0)
    query = soma.Quantile(candidates, 0.5)
    frequencies = [(draws == c).sum() for c in candidates]
    for law in laws:
        native = soma.Release(query=query, mechanism=law, values=[2.5], n=12)._native()
        mass = [math.exp(native.log_density([c], sums)) for c in candidates]
        assert abs(sum(mass) - 1) < 1e-9
        fits = isinstance(law, soma.PermuteAndFlip) == pure
        assert (p_value(frequencies, mass) > THRESHOLD) == fits


def _below(records, c):
    return sum(x < c for x in records)


def _above(records, c):
    return sum(x > c for x in records)


def test_pydp_integers_are_rounded():
    mechanisms = pytest.importorskip("pydp.algorithms.numerical_mechanisms", reason="needs PyDP", exc_type=ImportError)
    noisy = mechanisms.LaplaceMechanism(epsilon=1.4, sensitivity=1)
    draws = np.array([noisy.add_noise(40) for _ in range(DRAWS)])
    assert np.array_equal(draws, np.round(draws))
    points = np.arange(0, 81)
    for law, fits in ((soma.RoundedLaplace, True), (soma.DiscreteLaplace, False)):
        native = release(law(scale=1 / 1.4))
        assert (compare(draws, points, native, 40) > THRESHOLD) == fits


def test_pydp_floats_are_continuous():
    mechanisms = pytest.importorskip("pydp.algorithms.numerical_mechanisms", reason="needs PyDP", exc_type=ImportError)
    noisy = mechanisms.LaplaceMechanism(epsilon=1.4, sensitivity=1)
    draws = np.array([noisy.add_noise(10.3) for _ in range(DRAWS)])
    edges = 10.3 + np.array([-4, -2, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 2, 4]) / 1.4
    native = release(soma.Laplace(scale=1 / 1.4), soma.Mean(clamp=(0.0, 100.0)))
    density = lambda y: math.exp(native.log_density([y], [10.3]))  # noqa: E731
    assert compare_bins(draws, edges, density) > THRESHOLD


@pytest.mark.parametrize("name", ["Geometric", "GaussianDiscrete"])
def test_diffprivlib_whole_numbers(name):
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="needs diffprivlib", exc_type=ImportError)
    if name == "Geometric":
        noise = mechanisms.Geometric(epsilon=0.7, sensitivity=1, random_state=1)
        law = soma.DiscreteLaplace(scale=1 / 0.7)
    else:
        noise = mechanisms.GaussianDiscrete(epsilon=0.7, delta=1e-3, random_state=1)
        law = soma.DiscreteGaussian(scale=float(noise._scale))
    draws = np.array([noise.randomise(40) for _ in range(DRAWS)])
    assert compare(draws, np.arange(0, 81), release(law), 40) > THRESHOLD


def test_diffprivlib_truncates_to_the_range():
    """Means, sums and histograms: what is outside is put to the end."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="needs diffprivlib", exc_type=ImportError)
    noise = mechanisms.LaplaceTruncated(
        epsilon=1.0, sensitivity=0.4, lower=0.0, upper=1.0, random_state=1
    )
    draws = np.array([noise.randomise(0.2) for _ in range(DRAWS)])
    mean = soma.Mean(clamp=(0.0, 1.0))
    native = release(soma.Laplace(scale=0.4, clamp=(0.0, 1.0)), mean, "mean", [0.5])
    mass = [math.exp(native.log_density([y], [0.2])) for y in (0.0, 1.0)]
    ends = [(draws == y).sum() for y in (0.0, 1.0)]
    inside = (draws > 0.0) & (draws < 1.0)
    assert p_value([*ends, inside.sum()], [*mass, 1 - sum(mass)]) > THRESHOLD
    edges = np.array([1e-9, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0 - 1e-9])
    density = lambda y: math.exp(native.log_density([y], [0.2]))  # noqa: E731
    assert compare_bins(draws[inside], edges, density) > THRESHOLD


@pytest.mark.parametrize("epsilon", [0.1, 0.9, 3.0])
def test_diffprivlib_gaussian_scales(epsilon):
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="needs diffprivlib", exc_type=ImportError)
    rules = {"analytic": mechanisms.GaussianAnalytic, "classical": mechanisms.Gaussian}
    for rule, theirs in rules.items():
        if rule == "classical" and epsilon > 1:
            continue
        scale = theirs(epsilon=epsilon, delta=1e-5, sensitivity=1.0)._scale
        law = soma.Gaussian(epsilon=epsilon, delta=1e-5, rule=rule)
        ours = soma.Release(
            query=soma.Mean(clamp=(0.0, 1.0)), mechanism=law, statistic="sum", values=[0.5], n=1
        )
        assert abs(ours.scales[0] / scale - 1) < 1e-6


def test_diffprivlib_bounded_domain():
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="needs diffprivlib", exc_type=ImportError)
    noise = mechanisms.LaplaceBoundedDomain(
        epsilon=1.0, sensitivity=0.4, lower=0.0, upper=1.0, random_state=1
    )
    draws = np.array([noise.randomise(0.2) for _ in range(DRAWS)])
    scale = noise._scale
    edges = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])
    mean = soma.Mean(clamp=(0.0, 1.0))
    for within, fits in (((0.0, 1.0), True), (None, False)):
        native = release(soma.Laplace(scale=scale, within=within), mean, "mean", [0.5])
        density = lambda y: math.exp(native.log_density([y], [0.2]))  # noqa: B023, E731
        assert (compare_bins(draws, edges, density) > THRESHOLD) == fits


def test_diffprivlib_variance():
    """`var`: the sample variance (over n), with noise on a bounded domain."""
    tools = pytest.importorskip(
        "diffprivlib.tools", reason="needs diffprivlib", exc_type=ImportError
    )
    from diffprivlib.mechanisms import LaplaceBoundedDomain

    records = np.array([0.1, 0.2, 0.4, 0.7, 0.9, 0.95])
    n, truth = len(records), records.var()

    def noise(seed):
        sensitivity = (1.0 / n) ** 2 * (n - 1)
        bounds = dict(lower=0.0, upper=0.25)
        return LaplaceBoundedDomain(
            epsilon=2.0, sensitivity=sensitivity, random_state=np.random.RandomState(seed), **bounds
        )

    for seed in range(20):  # `var` is this mechanism: it finds the scale anew each time, slowly
        own = np.random.RandomState(seed)
        published = tools.var(records, epsilon=2.0, bounds=(0.0, 1.0), random_state=own)
        assert published == noise(seed).randomise(truth)
    mechanism = noise(1)
    draws = np.array([mechanism.randomise(truth) for _ in range(DRAWS)])
    law = soma.Laplace(scale=float(mechanism._scale), within=(0.0, 0.25))
    query = soma.Variance(clamp=(0.0, 1.0), ddof=0)
    native = soma.Release(query=query, mechanism=law, values=[0.1], n=n)._native()
    # From epsilon, the scale is the one that diffprivlib finds.
    budget = soma.Laplace(epsilon=2.0, within=(0.0, 0.25))
    own = soma.Release(query=query, mechanism=budget, values=[0.1], n=n)._native()
    for point in (0.01, 0.1, 0.24):
        densities = [release.log_density([point], [0.0, 1.0, n]) for release in (own, native)]
        assert abs(densities[0] - densities[1]) < 1e-9
    centred = records - 0.5
    sums = [centred.sum(), (centred**2).sum(), n]
    edges = np.sort([0.0, 0.03, 0.06, truth, 0.15, 0.2, 0.25])
    density = lambda y: math.exp(native.log_density([y], sums))  # noqa: E731
    assert compare_bins(draws, edges, density) > THRESHOLD
