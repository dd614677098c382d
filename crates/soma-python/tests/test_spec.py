"""Spec files, and every model that comes with SOMA: as the command line has them."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import soma
from soma._described import toml

ROOT = Path(os.environ.get("SOMA_ROOT", Path(__file__).parents[3]))
SPECS = sorted((ROOT / "examples").glob("*.toml"))
SHORT = dict(chains=2, warmup=20, draws=10)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs_are_read_into_objects(path):
    spec = soma.read_spec(path)
    assert isinstance(spec.release, soma.Release)
    assert isinstance(spec.model, soma.BuiltinModel)
    posterior = spec.fit(**SHORT)
    assert posterior.draws.shape == (2, 10, len(posterior.parameters))


def same_as_the_command_line(path, posterior, folder):
    options = [f"--{name}={value}" for name, value in SHORT.items()]
    command = [os.environ["SOMA_PROGRAM"], "fit", path, *options, "--json", "--out", folder]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    stored = soma.open(folder)
    assert stored.parameters == posterior.parameters
    assert np.array_equal(stored.draws, posterior.draws)
    assert np.array_equal(stored.log_density, posterior.log_density)
    assert np.array_equal(stored.acceptance, posterior.acceptance)
    summary = posterior.summary()
    for row in shown["parameters"]:
        name = row.pop("name")
        ours = summary.loc[name]
        assert set(row) == set(ours.index)
        for column, value in row.items():
            assert value == ours[column] or (value is None and np.isnan(ours[column]))


program = pytest.mark.skipif(
    "SOMA_PROGRAM" not in os.environ, reason="needs the program soma"
)


@program
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_draws_of_specs_are_those_of_the_command_line(path, tmp_path):
    same_as_the_command_line(path, soma.read_spec(path).fit(**SHORT), tmp_path / "run")


def test_errors_say_where():
    with pytest.raises(ValueError, match=r"line 2: release\.m: unknown key"):
        soma.parse_spec("[release]\nm = 3\n")


def test_the_release_may_stand_in_a_file_of_its_own(tmp_path):
    text = (ROOT / "examples" / "category-counts.toml").read_text(encoding="utf-8")
    release, model = text.split("[model]")
    (tmp_path / "published.toml").write_text(release, encoding="utf-8")
    spec = tmp_path / "analysis.toml"
    spec.write_text(f'release = "published.toml"\n[model]{model}', encoding="utf-8")
    whole = soma.parse_spec(text)
    assert soma.read_spec(spec) == whole
    (tmp_path / "published.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="does not hold a release alone"):
        soma.read_spec(spec)
    (tmp_path / "published.toml").unlink()
    with pytest.raises(FileNotFoundError, match=r"published\.toml"):
        soma.read_spec(spec)


def test_a_release_alone_has_no_model():
    spec = soma.parse_spec(
        """
        [release]
        n = 100
        statistic = "mean"
        values = [0.4]
        query = { kind = "mean", clamp = [-5.0, 5.0] }
        mechanism = { kind = "laplace", epsilon = 1.0 }
        """
    )
    assert spec.model is None and spec.release.scales == (0.1,)
    with pytest.raises(ValueError, match=r"no \[model\]"):
        spec.fit()


OUTPUT = """
[release]
n = 12
statistic = "mean"
values = [0.4]
query = { kind = "mean", clamp = [-5.0, 5.0] }
mechanism = { kind = "laplace", epsilon = 1.0 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }

[output]
"""


@pytest.mark.parametrize(
    "output, stored", [("", 0), ("records = true", 10), ("records = true\nrecords_thin = 4", 3)]
)
def test_the_output_table_is_obeyed(tmp_path, output, stored):
    """So many of ten draws have their twelve records stored, in each of two chains."""
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "run"
    spec = soma.parse_spec(OUTPUT + output)
    posterior = spec.fit(out=folder, progress=False, **SHORT)
    files = sorted((folder / "records").glob("*.parquet"))
    assert sum(parquet.read_table(file).num_rows for file in files) == 2 * 12 * stored
    opened = soma.open(folder)
    assert np.array_equal(opened.draws, posterior.draws)
    longer = spec.fit(out=folder, resume=True, progress=False, **{**SHORT, "draws": 15})
    assert longer.draws.shape[1] == 15


def test_records_are_kept_without_a_folder(tmp_path):
    spec = soma.parse_spec(OUTPUT + "records = true\nrecords_thin = 4")
    here = spec.fit(progress=False, **SHORT).records
    stored = spec.fit(progress=False, out=tmp_path / "run", **SHORT).records
    assert here.array.shape == (2, 3, 12, 1)
    assert np.array_equal(here.array, stored.array)
    with pytest.raises(ValueError, match="records_thin: must be a positive whole number"):
        spec.fit(progress=False, records_thin=0, **SHORT)


def one(query, mechanism, statistic, n, values, model):
    release = soma.Release(
        query=query, mechanism=mechanism, statistic=statistic, n=n, values=values
    )
    return release, model


LAPLACE = soma.Laplace(epsilon=1.0)
EVERY = {
    "normal": one(
        soma.Mean(clamp=(-5.0, 5.0)), LAPLACE, "mean", 20, [0.4],
        soma.Normal(
            prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0)),
    ),
    "regression": one(
        soma.Gram(clamp=(-6.0, 6.0), predictors=1), LAPLACE, "mean", 20,
        [0.1, 0.2, 0.3, -0.1, 0.2],
        soma.Regression(
            predictors=soma.Predictors(mean=[0.5], covariance=[[2.0]]),
            prior=soma.NormalInverseGamma(
                mean=[0.0, 1.0], precision=[[0.5, 0.1], [0.1, 0.5]], shape=3.0, rate=3.0)),
    ),
    "dirichlet": one(
        soma.LogSum(clamp=(0.001, 1.0)), LAPLACE, "mean", 20, [-1.0, -1.0, -2.0],
        soma.Dirichlet(3, prior=soma.Gamma([1.0, 2.0, 3.0], 0.1)),
    ),
    "beta": one(
        soma.Mean(clamp=(0.0, 1.0)), LAPLACE, "sum", 20, [7.0],
        soma.Beta(prior=soma.Gamma(1.0, 0.1)),
    ),
    "exponential": one(
        soma.Mean(clamp=(0.0, 10.0)), soma.Gaussian(rho=0.5), "mean", 20, [2.0],
        soma.Exponential(prior=soma.Gamma(2.0, 1.0)),
    ),
    "categorical": one(
        soma.Categories(labels=["a", "b", "c"]), soma.DiscreteLaplace(epsilon=1.0), "sum", 20,
        [10, 5, 6], soma.Categorical(prior=soma.DirichletPrior([1.0, 2.0, 3.0])),
    ),
    "table": one(
        soma.CrossTable(axes=[["a", "b"], 3]), soma.DiscreteLaplace(scale=2.0), "sum", "unknown",
        [10, 5, 6, 1, 0, 4],
        soma.LogLinear(interactions=[[0, 1]], prior=soma.NormalPrior([1.0, 1.0, 0.5])),
    ),
    "margin": one(
        soma.CrossTable(axes=[2, 3], margin=[1]), soma.DiscreteGaussian(rho=0.5), "sum",
        {"prior": "poisson", "mean": 20.0}, [10, 5, 6],
        soma.Categorical(prior=soma.DirichletPrior(1.0)),
    ),
    "uniform": one(
        soma.Histogram(range=(0.0, 1.0), bins=3), soma.DiscreteGaussian(rho=0.5), "sum", 20,
        [10, 5, 6], soma.Uniform(range=(0.0, 1.0), summaries=["mean", 0.5]),
    ),
    "histogram with edges": one(
        soma.Histogram(edges=[0.0, 0.5, 2.0]), LAPLACE, "sum", 20, [10.0, 8.0],
        soma.Exponential(prior=soma.Gamma(2.0, 1.0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_model_runs(name):
    release, model = EVERY[name]
    posterior = soma.fit(release, model, seed=1, **SHORT)
    assert np.isfinite(posterior.draws).all()
    assert repr(model).startswith(f"{type(model).__name__}(")


@program
@pytest.mark.parametrize("name", EVERY)
def test_draws_of_every_model_are_those_of_the_command_line(name, tmp_path):
    release, model = EVERY[name]
    path = tmp_path / "spec.toml"
    path.write_text(f"{release._text()}model = {toml(model)}\n")
    same_as_the_command_line(path, soma.fit(release, model, **SHORT), tmp_path / "run")


def test_shares_must_fit_the_release():
    release, _ = EVERY["dirichlet"]
    with pytest.raises(ValueError, match="model.dim: .*Allowed: 3"):
        soma.fit(release, soma.Dirichlet(4, prior=soma.Gamma(1.0, 0.1)))
