"""Draws as an Arrow table, without copies."""

import numpy as np
import pytest

import soma

pa = pytest.importorskip("pyarrow")


def test_table(release, model):
    posterior = soma.fit(release, model, chains=3, warmup=10, draws=20)
    table = pa.table(posterior)
    assert table.column_names == ["chain", "draw", "mu", "sigma2", "acceptance", "log_density"]
    assert table.num_rows == 60
    assert table["chain"].to_pylist() == [c for c in range(3) for _ in range(20)]
    assert table["draw"].to_pylist() == list(range(20)) * 3
    for name in posterior.parameters:
        assert np.array_equal(table[name].to_numpy(), posterior[name].ravel())
    assert np.array_equal(table["log_density"].to_numpy(), posterior.log_density.ravel())


def test_no_copies(release, model):
    posterior = soma.fit(release, model, chains=2, warmup=10, draws=20)
    table = pa.table(posterior)
    for chain in range(2):
        ours = posterior["sigma2"][chain].__array_interface__["data"][0]
        assert table["sigma2"].chunk(chain).buffers()[1].address == ours


def test_table_outlives_the_posterior(release, model):
    posterior = soma.fit(release, model, chains=1, warmup=10, draws=1000)
    table, expected = pa.table(posterior), posterior["mu"].ravel().copy()
    del posterior
    junk = [np.random.default_rng(0).normal(size=1000) for _ in range(100)]
    assert np.array_equal(table["mu"].to_numpy(), expected) and junk


def test_round_trip(release, model):
    posterior = soma.fit(release, model, chains=2, warmup=10, draws=20)
    same = soma.Posterior.from_arrow(pa.table(posterior))
    assert same.parameters == posterior.parameters
    assert np.array_equal(same.draws, posterior.draws)
    assert np.array_equal(same.acceptance, posterior.acceptance)
    assert same.summary().equals(posterior.summary())


def test_tables_of_other_programs():
    table = pa.table({"chain": [1, 0, 1, 0], "x": [1, 2, 3, 4]})
    posterior = soma.Posterior.from_arrow(table)
    assert posterior["x"].tolist() == [[2.0, 4.0], [1.0, 3.0]]
    for columns, text in [
        ({"x": [1.0]}, "no column chain"),
        ({"chain": [0, 1, 1], "x": [1.0, 2.0, 3.0]}, "equally long"),
        ({"chain": [0], "x": ["one"]}, "does not hold numbers"),
        ({"chain": [0], "x": pa.array([None], pa.float64())}, "missing values"),
    ]:
        with pytest.raises(ValueError, match=text):
            soma.Posterior.from_arrow(pa.table(columns))
