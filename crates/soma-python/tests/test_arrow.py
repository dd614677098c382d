"""Draws as an Arrow table, without copies."""

import numpy as np
import pytest

import soma

pa = pytest.importorskip("pyarrow")


def test_table(release, model):
    posterior = soma.fit(release, model, chains=3, warmup=10, draws=20)
    table = pa.table(posterior)
    assert table.column_names == ["chain", "draw", "mu", "sigma2", "acceptance_rate", "lp"]
    assert table.num_rows == 60
    assert table["chain"].to_pylist() == [c for c in range(3) for _ in range(20)]
    assert table["draw"].to_pylist() == list(range(20)) * 3
    for name in posterior.parameters:
        assert np.array_equal(table[name].to_numpy(), posterior[name].ravel())
    assert np.array_equal(table["lp"].to_numpy(), posterior.log_density.ravel())


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
