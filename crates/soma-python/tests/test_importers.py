"""What the real tools print, made here with the tools, becomes a release."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import soma

RNG = np.random.default_rng(1)
N = 1000
AGES = RNG.normal(40.0, 10.0, N).clip(0.0, 100.0)
HOURS = RNG.integers(0, 60, N)
REGIONS = RNG.choice(list("abc"), N)


@pytest.fixture(scope="module")
def opendp():
    """A function that makes a query of OpenDP's Polars front on 1,000 people."""
    polars = pytest.importorskip("polars", reason="needs OpenDP with Polars")
    dp = pytest.importorskip("opendp.prelude", reason="needs OpenDP with Polars")
    dp.enable_features("contrib")
    data = polars.LazyFrame({"age": AGES, "hours": HOURS, "region": REGIONS})

    def query(make, **loss):
        margins = [
            dp.polars.Margin(max_length=N),
            dp.polars.Margin(by=["region"], max_length=N, max_groups=10, **loss.pop("margin", {})),
        ]
        context = dp.Context.compositor(
            data=data,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(**loss),
            split_evenly_over=1,
            margins=margins,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(context.query(), polars.col, dp)

    return query


def age(col):
    return col("age").fill_null(0.0).fill_nan(0.0).dp


def test_opendp_sum_and_count(opendp):
    query = opendp(lambda q, col, dp: q.select(dp.len(), age(col).sum((0.0, 100.0))), epsilon=1.0)
    result = query.release().collect()
    release = soma.from_opendp(query, result, clamp={"age": (0.0, 100.0)})
    assert release.n == "unknown" and [part.name for part in release.parts] == ["len", "age"]
    assert release.scales == tuple(query.summarize()["scale"])
    assert release.observed == (float(result["len"][0]), result["age"][0])
    kinds = [type(part.mechanism) for part in release.parts]
    assert kinds == [soma.DiscreteLaplace, soma.Laplace]
    prior = soma.NormalInverseGamma(mean=40.0, lambda_=0.01, shape=5.0, rate=500.0)
    posterior = soma.fit(release, soma.Normal(prior=prior), draws=500, seed=1, progress=False)
    summary = posterior.summary()
    assert abs(summary.loc["n", "mean"] - N) < 5 * summary.loc["n", "sd"] + 5
    assert abs(summary.loc["mu", "mean"] - AGES.mean()) < 5 * summary.loc["mu", "sd"]


def test_opendp_asks_for_what_it_does_not_print(opendp):
    query = opendp(lambda q, col, dp: q.select(age(col).sum((0.0, 100.0))), epsilon=1.0)
    with pytest.raises(ValueError, match="^clamp: the range that age was clamped to"):
        soma.from_opendp(query, query.release().collect())


def test_opendp_mean_is_a_ratio(opendp):
    query = opendp(lambda q, col, dp: q.select(age(col).mean((0.0, 100.0))), epsilon=1.0)
    result, bounds = query.release().collect(), {"age": (0.0, 100.0)}
    release = soma.from_opendp(query, result, n=N, clamp=bounds)
    (part,) = release.parts
    with pytest.raises(ValueError, match="^release.n: no part .*--n N"):
        soma.from_opendp(query, result, clamp=bounds)
    scales = part.mechanism.numerator.scale, part.mechanism.denominator.scale
    assert scales == tuple(query.summarize()["scale"])


@pytest.mark.parametrize(
    "loss, law", [("epsilon", soma.PermuteAndFlip), ("rho", soma.ExponentialMechanism)]
)
def test_opendp_quantile(opendp, loss, law):
    candidates = [20.0, 30.0, 40.0, 50.0]
    query = opendp(lambda q, col, dp: q.select(age(col).quantile(0.25, candidates)), **{loss: 0.3})
    result = query.release().collect()
    release = soma.from_opendp(query, result, n=N, candidates={"age": candidates})
    (part,) = release.parts
    # Scores are whole numbers in OpenDP: four times ours, and the scale with them.
    assert part.mechanism == law(query.summarize()["scale"][0] / 4)
    assert part.query == soma.Quantile(candidates, 0.25)


@pytest.mark.parametrize("alpha", [0.5, 0.25, 0.1])
@pytest.mark.parametrize("loss", ["epsilon", "rho"])
def test_opendp_quantiles_have_the_imported_law(opendp, alpha, loss):
    """4,000 groups with the same records, and a quantile of each: frequencies against our density."""
    import opendp.prelude as dp
    import polars

    records, candidates, groups = [1.0] * 3 + [2.0] * 4 + [3.0] * 5, [1.5, 2.5, 3.5], 4000
    data = {"k": np.repeat(np.arange(groups), len(records)), "x": records * groups}
    query = dp.Context.compositor(
        data=polars.LazyFrame(data),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(**{loss: 0.3}),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["k"], invariant="keys", max_length=20)],
    ).query()
    noisy = polars.col("x").fill_null(0.0).fill_nan(0.0).dp.quantile(alpha, candidates)
    query = query.group_by("k").agg(noisy)
    chosen = query.release().collect()["x"].to_numpy()
    release = soma.from_opendp(
        query.summarize(), polars.DataFrame({"x": [1.5]}), n=len(records),
        candidates={"x": candidates}, max_length=20,
    )  # fmt: skip
    sums = [side(records, c) for c in candidates for side in (np.less, np.greater)]
    sums = [float(np.sum(side)) for side in sums]
    density = [np.exp(release._native().log_density([c], sums)) for c in candidates]
    expected = groups * np.array(density)
    frequencies = np.array([np.sum(chosen == c) for c in candidates])
    assert abs(expected.sum() - groups) < 1e-6
    error = np.sqrt(expected * (1 - expected / groups))
    assert np.all(abs(frequencies - expected) < 4.5 * error + 5), (frequencies, expected)


def test_opendp_groups(opendp):
    make = lambda q, col, dp: q.group_by("region").agg(dp.len())  # noqa: E731
    query = opendp(make, rho=0.2, margin={"invariant": "keys"})
    result = query.release().collect()
    release = soma.from_opendp(query, result, n=N)
    (part,) = release.parts
    assert part.query == soma.Categories(["a", "b", "c"]) and release.n == N
    by_region = dict(result.iter_rows())
    assert part.values == tuple(by_region[region] for region in "abc")
    assert part.mechanism.scale == query.summarize()["scale"][0]
    assert part.mechanism.clamp[0] == 0


def test_opendp_groups_above_a_threshold(opendp):
    make = lambda q, col, dp: q.group_by("region").agg(dp.len())  # noqa: E731
    query = opendp(make, epsilon=1.0, delta=1e-6)
    release = soma.from_opendp(query, query.release().collect(), labels=["a", "b", "c", "d"])
    (part,) = release.parts
    assert part.values[3] == "suppressed"
    assert part.mechanism.threshold == query.summarize()["threshold"][0]


def test_opendp_several_variables_are_statistics_as_text(opendp):
    make = lambda q, col, dp: q.select(  # noqa: E731
        dp.len(), age(col).sum((0.0, 100.0)), col("hours").fill_null(0).dp.sum((0, 60))
    )
    query = opendp(make, epsilon=1.0)
    bounds = {"age": (0.0, 100.0), "hours": (0, 60)}
    release = soma.from_opendp(query, query.release().collect(), clamp=bounds)
    assert release.parts[1].query == soma.Statistics(["clamp(age, 0.0, 100.0)"])


def test_the_command_line_gives_the_same(opendp, tmp_path):
    query = opendp(lambda q, col, dp: q.select(dp.len(), age(col).sum((0.0, 100.0))), epsilon=1.0)
    result = query.release().collect()
    query.summarize().write_csv(tmp_path / "summary.csv")
    result.write_csv(tmp_path / "result.csv")
    command = [sys.executable, "-m", "soma", "import", "opendp", "summary.csv", "result.csv"]
    done = subprocess.run(
        [*command, "--clamp", "age=0,100"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    expected = soma.from_opendp(query, result, clamp={"age": (0.0, 100.0)})
    assert soma.parse_spec(done.stdout).release == expected


def pipelinedp(kind, metrics, **params):
    pipeline_dp = pytest.importorskip("pipeline_dp", reason="needs PipelineDP")
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=2.0, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    aggregate = pipeline_dp.AggregateParams(
        noise_kind=getattr(pipeline_dp.NoiseKind, kind),
        metrics=[getattr(pipeline_dp.Metrics, metric) for metric in metrics],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        output_noise_stddev=True,
        **params,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    rows = list(zip(range(N), REGIONS.tolist(), HOURS.tolist()))
    result = engine.aggregate(rows, aggregate, extractors, public_partitions=["a", "b", "c"])
    accountant.compute_budgets()
    return list(result)


@pytest.mark.parametrize("kind, ratio", [("LAPLACE", 2.0**-0.5), ("GAUSSIAN", 1.0)])
def test_pipelinedp_counts(kind, ratio):
    result = pipelinedp(kind, ["COUNT"])
    release = soma.from_pipelinedp(result, noise=kind.lower())
    printed = {partition: metrics for partition, metrics in result}
    assert release.observed == tuple(printed[region].count for region in "abc")
    sd = [printed[region].count_noise_stddev for region in "abc"]
    assert np.allclose(release.scales, np.array(sd) * ratio, rtol=1e-15)


def test_pipelinedp_asks_for_columns():
    result = pipelinedp("LAPLACE", ["COUNT", "SUM"], min_value=0, max_value=60)
    with pytest.raises(ValueError, match="^sum: of partitions, counts are imported"):
        soma.from_pipelinedp(result, noise="laplace")
    assert len(soma.from_pipelinedp(result, noise="laplace", columns=["count"]).parts) == 1


def test_census_measurements():
    """Values may be lists or arrays, as Parquet readers give them."""
    table = pd.DataFrame(
        {
            "geocode": ["44", "44", "45"],
            "query_name": ["total", "sex * age", "total"],
            "query_shape": [(1, 1), (2, 3), (1, 1)],
            "value": [[23], np.arange(6) + 1, [4]],
            "variance": [2.5, 4.5, 2.5],
        }
    )
    release = soma.from_census(table, geocode="44")
    assert release.parts[0].query == soma.CrossTable([2, 3], [])
    assert release.parts[1].values == (1, 2, 3, 4, 5, 6)
    assert release.parts[1].mechanism == soma.DiscreteGaussian(variance=4.5)
    with pytest.raises(ValueError, match="^geocode: "):
        soma.from_census(table)


def test_census_estimates():
    table = pd.DataFrame(
        {"geocode": "44", "query": ["total", "a", "b"], "estimate": [23.5, 13.25, 9.5],
         "std_dev": [1.5, 2.5, 3.5]}
    )  # fmt: skip
    release = soma.from_census(table)
    assert release.scales == (1.5, 2.5, 3.5)
    assert release.parts[0].query == soma.Count()


def test_tables_of_counts():
    table = pd.DataFrame({"region": ["b", "a"], "count": [3, None], "scale": [2.0, 2.0]})
    release = soma.from_table(table, noise="discrete-laplace", threshold=1, n=20)
    assert release.parts[0].values == ("suppressed", 3)
