"""Many fits in one call, and what a fit keeps beside its draws."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import soma

SHORT = dict(chains=2, warmup=30, draws=50, progress=False)

SPEC = """
[release]
n = {n}
statistic = "mean"
values = [0.4]
query = {{ kind = "mean", clamp = [-5.0, 5.0] }}
mechanism = {{ kind = "laplace", epsilon = 1.0 }}
[model]
kind = "normal"
prior = {{ kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }}
[sampler]
seed = {n}
"""


@pytest.fixture
def specs(tmp_path):
    folder = tmp_path / "specs"
    folder.mkdir()
    for n in (20, 30, 40):
        (folder / f"n{n}.toml").write_text(SPEC.format(n=n))
    return folder


def test_many_fits_are_the_single_fits(specs):
    many = soma.fit_many(specs, **SHORT)
    assert list(many) == ["n20", "n30", "n40"] and len(many) == 3
    for name in many:
        alone = soma.read_spec(specs / f"{name}.toml").fit(**SHORT)
        assert np.array_equal(many[name].draws, alone.draws)
        assert many[name].settings == alone.settings
    only = soma.fit_many([specs / "n20.toml"], keep_draws=False, **SHORT)
    assert len(only) == 0 and only.results["name"].unique().tolist() == ["n20"]
    same = many.results[many.results["name"] == "n20"]
    pd.testing.assert_frame_equal(only.results, same)


def test_the_table_is_that_of_the_program(specs, tmp_path):
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    args = ["--chains", "2", "--warmup", "30", "--draws", "50", "--quiet", "--out", str(out)]
    subprocess.run([sys.executable, "-m", "soma", "fit", str(specs), *args], check=True)
    file = pd.read_parquet(out / "results.parquet")
    here = soma.fit_many(specs, **SHORT).results
    assert list(file.columns) == list(here.columns)
    for column in file.columns:
        if file[column].dtype.kind == "f":
            np.testing.assert_allclose(here[column], file[column], rtol=1e-12)
        else:
            assert here[column].tolist() == file[column].tolist(), column


def test_a_fit_that_fails_is_a_row(release, model, own_model):
    class Broken(type(own_model)):
        def update(self, theta, records, rng):
            raise RuntimeError("no update today")

    many = soma.fit_many({"good": (release, model), "bad": (release, Broken())}, **SHORT)
    assert list(many) == ["good"] and "no update today" in str(many.errors["bad"])
    row = many.results[many.results["name"] == "bad"].iloc[0]
    assert row["verdict"] == "failed" and not many.trusted
    for wrong, error, match in [
        ({"x": release}, TypeError, "x: must be a soma.Spec"),
        ({"x": (release, None)}, TypeError, "model"),
    ]:
        with pytest.raises(error, match=match):
            soma.fit_many(wrong, **SHORT)
    with pytest.raises(TypeError, match="out: fit_many has no such argument"):
        soma.fit_many({"x": (release, model)}, out="run", **SHORT)
    with pytest.raises(ValueError, match="draws"):
        soma.fit_many({"x": (release, model)}, **{**SHORT, "draws": 0})


def test_many_fits_on_a_dask_cluster(specs):
    distributed = pytest.importorskip("dask.distributed")
    here = soma.fit_many(specs, **SHORT).results
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        there = soma.fit_many(
            specs, executor=client.get_executor(), keep_draws=False, **SHORT
        ).results
    pd.testing.assert_frame_equal(here, there)


def test_advice_has_the_numbers_of_the_program(specs, tmp_path):
    short = dict(chains=1, warmup=10, draws=20, progress=False)
    posterior = soma.read_spec(specs / "n20.toml").fit(**short)
    args = ["--chains", "1", "--warmup", "10", "--draws", "20", "--json", "--quiet"]
    command = [sys.executable, "-m", "soma", "fit", str(specs / "n20.toml"), *args]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    diagnosis = soma.diagnose(posterior)
    assert diagnosis.advice == report["advice"] and diagnosis.advice["chains"] == 4
    assert f"Try chains=4, draws={diagnosis.advice['draws']}" in repr(posterior)
    assert soma.diagnose(np.ones((2, 50))).advice == {}


def test_moves_are_reported(release, model, tmp_path):
    posterior = soma.fit(release, model, **SHORT)
    assert len(posterior.moves) == 2
    for chain in posterior.moves:
        assert [move.name for move in chain][:2] == ["sweep", "centred"]
        assert sum(move.share for move in chain) == pytest.approx(1.0)
        assert all(0.0 <= move.acceptance <= 1.0 for move in chain if move.proposed)
    stored = soma.fit(release, model, out=tmp_path / "run", **SHORT)
    assert stored.moves == posterior.moves


def test_records_are_data_sets_that_fit_the_release(release, model, tmp_path):
    posterior = soma.fit(release, model, records=True, records_thin=5, **SHORT)
    records = posterior.records
    assert records.columns == ("x1",) and records.array.shape == (2, 10, 100, 1)
    # What the chain says of the release is what its records give: the mean, and its Laplace law.
    means = np.clip(records["x1"], -5.0, 5.0).mean(axis=2)
    scale = release.scales[0]
    density = -np.abs(means - 0.4) / scale - np.log(2 * scale)
    np.testing.assert_allclose(density, posterior.log_density[:, ::5], rtol=1e-9)
    table = records.to_pandas()
    assert list(table.columns) == ["chain", "draw", "record", "x1"] and len(table) == 2000
    assert table["draw"].unique().tolist() == list(range(0, 50, 5))
    records.to_csv(tmp_path / "records.csv")
    again = pd.read_csv(tmp_path / "records.csv")
    np.testing.assert_allclose(again["x1"], table["x1"])
    pytest.importorskip("pyarrow")
    records.to_parquet(tmp_path / "records.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "records.parquet"), table)
    stored = soma.fit(release, model, out=tmp_path / "run", records=True, records_thin=5, **SHORT)
    assert np.array_equal(stored.records.array, records.array)
    assert np.array_equal(soma.open(tmp_path / "run").records.array, records.array)
    assert soma.fit(release, model, **SHORT).records is None
    large = dataclasses.replace(release, n=10**6)
    with pytest.raises(MemoryError, match="records: the imputed records of 2000000 draws"):
        soma.fit(large, model, records=True, **{**SHORT, "draws": 10**6})


def test_columns_of_records_have_names():
    release = soma.Release(
        query=soma.Gram(clamp=(-5.0, 5.0), predictors=2),
        statistic="mean",
        n=10,
        mechanism=soma.Laplace(scale=1.0),
        values=[0.0] * 9,
    )
    prior = soma.NormalInverseGamma(mean=0.0, precision=0.5, shape=10.0, rate=10.0)
    model = soma.Regression(predictors=soma.Predictors(mean=[0.0, 0.0]), prior=prior)
    posterior = soma.fit(release, model, records=True, **SHORT)
    assert posterior.records.columns == ("x1", "x2", "y")
    with pytest.raises(KeyError, match="the columns are x1, x2, y"):
        posterior.records["z"]


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_the_program_with_a_table(specs, tmp_path):
    out = tmp_path / "long"
    args = ["fit", str(specs / "n20.toml"), "--draws", "10000000", "--out", str(out)]
    command = [sys.executable, "-m", "soma", *args]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while not list(out.glob("draws/*.parquet")):
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0 and "sigma2" in output


def test_records_are_drawn_from_counts(tmp_path):
    """The sampler of counts gives records too: the cells of a table, normal ages within bins."""
    table = soma.Release(
        query=soma.CrossTable(axes=[["f", "m"], 2]),
        statistic="sum",
        n=60,
        mechanism=soma.DiscreteLaplace(scale=3.0),
        values=[20, 11, -2, 30],
    )
    model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    posterior = soma.fit(table, model, records=True, records_thin=5, **SHORT)
    assert posterior.chosen[0].kernel == "counts"
    cells = posterior.records["x1"]
    assert cells.shape == (2, 10, 60)
    for cell, label in enumerate(["f,0", "f,1", "m,0", "m,1"]):
        assert np.array_equal((cells == cell).sum(axis=2), posterior[f"count[{label}]"][:, ::5])
    stored = soma.fit(table, model, out=tmp_path / "run", records=True, records_thin=5, **SHORT)
    assert np.array_equal(stored.records.array, posterior.records.array)
    assert np.array_equal(soma.fit(table, model, **SHORT).draws, posterior.draws)
    with pytest.raises(ValueError, match="their number is unknown"):
        soma.fit(dataclasses.replace(table, n="unknown"), model, records=True, **SHORT)
