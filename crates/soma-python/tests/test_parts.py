"""Releases of several parts, of an unknown number of records, and all their laws."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

import soma

CATEGORIES = soma.Categories(labels=["a", "b"])
MODEL = soma.Categorical(prior=soma.DirichletPrior(1.0))
COUNTS = soma.Part(
    query=CATEGORIES, statistic="sum", values=[12, 3],
    mechanism=soma.DiscreteLaplace(scale=2.0), name="counts",
)  # fmt: skip
TOTAL = soma.Part(
    query=soma.Count(), statistic="sum", values=[18],
    mechanism=soma.DiscreteLaplace(scale=1.0), name="total",
)  # fmt: skip


def one(**fields):
    return soma.Release(**{"n": 50, **fields})


EVERY = {
    "two parts": one(n="unknown", parts=[COUNTS, TOTAL]),
    "a prior of n": one(n={"prior": "poisson", "mean": 15.0}, parts=[COUNTS]),
    "neighbours": one(
        query=soma.Mean(clamp=(-1.0, 3.0)), mechanism=soma.Laplace(epsilon=2.0), values=[60.0],
        statistic="sum", neighbours="add-remove"),
    "epsilon and delta": one(
        query=soma.Mean(clamp=(0.0, 1.0)), statistic="mean", values=[0.4],
        mechanism=soma.Gaussian(epsilon=1.0, delta=1e-5, rule="analytic")),
    "variance": one(
        query=CATEGORIES, mechanism=soma.DiscreteGaussian(variance=2.5), values=[31, 18],
        statistic="sum"),
    "granularity": one(
        query=soma.Mean(clamp=(0.0, 1.0)), statistic="sum", values=[20.25],
        mechanism=soma.DiscreteLaplace(scale=2.0, granularity=0.25)),
    "within": one(
        query=soma.Mean(clamp=(0.0, 1.0)), statistic="mean", values=[0.4],
        mechanism=soma.Laplace(scale=0.1, within=(0.0, 1.0))),
    "round": one(
        query=soma.Mean(clamp=(0.0, 1.0)), statistic="mean", values=[0.4],
        mechanism=soma.Gaussian(scale=0.1, round=0.1)),
    "clamp": one(
        query=CATEGORIES, mechanism=soma.DiscreteGaussian(scale=3.0, clamp=(0, math.inf)),
        values=[48, 0], statistic="sum"),
    "suppressed": one(
        query=CATEGORIES, mechanism=soma.DiscreteGaussian(scale=3.0, threshold=10),
        values=[48, "suppressed"], statistic="sum"),
    "ratio": one(
        query=soma.Mean(clamp=(0.0, 1.0)), values=[0.4],
        mechanism=soma.Ratio(
            numerator=soma.Laplace(scale=1.0), denominator=soma.DiscreteLaplace(scale=1.0))),
    "sample variance": one(
        query=soma.Variance(clamp=(0.0, 1.0)), values=[0.1],
        mechanism=soma.Laplace(scale=0.02, within=(0.0, 1.0))),
    "quantile": one(
        query=soma.Quantile([0.25, 0.5, 0.75], 0.5), values=[0.5],
        mechanism=soma.PermuteAndFlip(scale=2.0)),
    "quantile, zCDP": one(
        query=soma.Quantile([0.25, 0.5, 0.75], 0.5), values=[0.5],
        mechanism=soma.ExponentialMechanism(scale=2.0)),
    "randomised response": one(
        query=CATEGORIES, values=[30, 20], mechanism=soma.RandomisedResponse(prob=0.75)),
    "synthetic records": one(
        query=CATEGORIES, values=[30, 20],
        mechanism=soma.SyntheticRecords(soma.DiscreteLaplace(scale=2.0))),
    "moments": one(
        query=soma.Moments(clamp=(0.0, 1.0), degree=2), statistic="sum", values=[20.0, 10.0],
        mechanism=soma.Laplace(scale=[1.0, 2.0])),
    "table": one(
        query=soma.CrossTable(axes=[2, ["x", "y"]], margin=[0]), statistic="sum",
        values=[30, 20], mechanism=soma.DiscreteLaplace(scale=2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_a_release_is_the_same_after_it_was_written_and_read(name):
    release = EVERY[name]
    assert soma.parse_spec(release.to_toml()).release == release
    assert soma.parse_spec(release._text()).release == release
    assert pickle.loads(pickle.dumps(release)) == release
    count = len(release.observed)
    assert len(release.labels) == len(release.scales) == count
    assert np.isfinite(release.observed).all()


@pytest.mark.parametrize("name", EVERY)
def test_every_release_is_fitted(name):
    categories = (
        "two parts", "a prior of n", "variance", "clamp", "suppressed", "table",
        "randomised response", "synthetic records",
    )  # fmt: skip
    model = MODEL if name in categories else soma.Beta(prior=soma.Gamma(2.0, 1.0))
    posterior = soma.fit(EVERY[name], model, chains=2, warmup=30, draws=10, seed=1, progress=False)
    assert np.isfinite(posterior.draws).all()
    assert ("n" in posterior.parameters) == (EVERY[name].n != 50)


def test_scales_of_parts_follow_from_their_own_budgets():
    release = soma.Release(
        n=100,
        parts=[
            soma.Part(query=soma.Mean(clamp=(0.0, 10.0)), statistic="mean", values=[4.2],
                      mechanism=soma.Laplace(epsilon=0.5)),
            soma.Part(query=soma.Mean(clamp=(0.0, 10.0)), statistic="sum", values=[430.0],
                      mechanism=soma.Gaussian(rho=0.5)),
        ],
    )  # fmt: skip
    assert release.scales == (0.2, 10.0)
    assert [label.split(":")[0] for label in release.labels] == ["part 1", "part 2"]
    assert EVERY["neighbours"].scales == (1.5,)
    assert math.isnan(EVERY["ratio"].scales[0])
    assert EVERY["two parts"].labels[2].startswith("total: ")


def test_suppressed_values_are_the_threshold_as_numbers():
    assert EVERY["suppressed"].observed == (48.0, 10.0)
    with pytest.raises(ValueError, match="threshold: is missing"):
        one(query=CATEGORIES, mechanism=soma.DiscreteGaussian(scale=3.0),
            values=[48, "suppressed"], statistic="sum")  # fmt: skip


@pytest.mark.parametrize(
    "fields, problem",
    [
        (dict(parts=[]), "release.parts: must not be empty"),
        (dict(parts=[COUNTS], values=[3]), "release.values: a release of several parts"),
        (dict(parts=[COUNTS, COUNTS]), r"release.parts\[1\].name: two parts have the same name"),
        (dict(parts=[TOTAL], n="some"), "release.n"),
        (dict(parts=[TOTAL], neighbours="both"), "release.neighbours"),
    ],
)
def test_errors_name_the_field(fields, problem):
    with pytest.raises(ValueError, match=f"^{problem}"):
        soma.Release(**{"n": 50, **fields})


def test_what_is_no_part_is_a_type_error():
    with pytest.raises(TypeError, match=r"^release.parts\[0\]: is of the wrong kind"):
        one(parts=[CATEGORIES])
    with pytest.raises(TypeError, match="^release.parts: is of the wrong kind"):
        one(parts=COUNTS)
    own = soma.CustomQuery(lambda x: x, bounds=[(0.0, 1.0)])
    with pytest.raises(TypeError, match="^part.query: a soma.CustomQuery is for a release of one"):
        soma.Part(query=own, mechanism=soma.Laplace(scale=1.0), values=[1.0], statistic="sum")


def test_a_noisy_total_is_used():
    """Exact answers by enumeration: E n is 14.659 of the counts alone, 17.497 with the total."""
    for parts, mean, p in (([COUNTS], 14.65882, 0.74876), ([COUNTS, TOTAL], 17.49698, 0.72971)):
        release = soma.Release(n="unknown", parts=parts)
        posterior = soma.fit(release, MODEL, draws=4000, seed=1, progress=False)
        summary = posterior.summary()
        for name, expected in (("n", mean), ("p[a]", p)):
            row = summary.loc[name]
            assert abs(row["mean"] - expected) < 4.5 * row["mcse_mean"], (name, row)


def test_replicated_releases_have_a_value_for_each_published_one():
    for name in ("ratio", "suppressed", "quantile"):
        release = EVERY[name]
        model = MODEL if name == "suppressed" else soma.Beta(prior=soma.Gamma(2.0, 1.0))
        posterior = soma.fit(release, model, chains=2, warmup=30, draws=10, progress=False)
        prediction = posterior.predict(draws=10)
        assert prediction.values.shape == (10, len(release.observed))
        assert tuple(prediction.published) == release.observed


def test_releases_are_replicated_with_the_n_of_the_draw():
    short = dict(chains=2, warmup=200, draws=500, progress=False)
    of_table = soma.fit(EVERY["two parts"], MODEL, **short)
    assert of_table.predict(draws=10).values.shape == (10, len(EVERY["two parts"].observed))
    release = soma.Release(
        n="unknown",
        parts=[
            soma.Part(
                query=soma.Mean(clamp=(0.0, 1.0)),
                statistic="sum",
                values=[40.0],
                mechanism=soma.Laplace(scale=1.0),
                name="sum",
            ),
            soma.Part(
                query=soma.Count(),
                statistic="sum",
                values=[100],
                mechanism=soma.DiscreteLaplace(scale=2.0),
                name="count",
            ),
        ],
    )
    model = soma.Beta(prior=soma.Gamma(2.0, 1.0))
    posterior = soma.fit(release, model, **short)
    prediction = posterior.predict(draws=1000)
    gap = prediction.values[:, 1].mean() - posterior["n"].mean()
    assert abs(gap) < 0.5 and (prediction.p_values > 0.1).all()
    # What is derived is not taken for n.
    known = soma.fit(dataclasses.replace(release, n=100), model, derived={"next": "n + 1"}, **short)
    with pytest.raises(ValueError, match="^release.n: the draws hold no number of records"):
        known.predict(release)


def test_a_stored_run_of_parts_is_opened(tmp_path):
    options = dict(chains=2, warmup=30, draws=10, progress=False, out=tmp_path / "run")
    posterior = soma.fit(EVERY["two parts"], MODEL, **options)
    assert soma.open(tmp_path / "run").release == EVERY["two parts"]
    assert np.array_equal(soma.open(tmp_path / "run").draws, posterior.draws)
