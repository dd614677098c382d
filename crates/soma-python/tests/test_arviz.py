"""Draws as ArviZ has them, before its version 1 and from it on."""

import numpy as np
import pytest

import soma

az = pytest.importorskip("arviz")


@pytest.fixture
def posterior(release, model):
    return soma.fit(release, model, chains=4, warmup=200, draws=500, seed=1)


def test_groups(posterior, release):
    data = posterior.to_arviz()
    assert data.posterior["mu"].dims == ("chain", "draw")
    assert np.array_equal(data.posterior["mu"].values, posterior["mu"])
    assert np.array_equal(data.sample_stats["acceptance_rate"].values, posterior.acceptance)
    assert np.array_equal(data.sample_stats["lp"].values, posterior.log_density)
    assert data.observed_data["release"].values.tolist() == list(release.values)
    assert data.observed_data["statistic"].values.tolist() == list(release.labels)


def test_attributes(posterior):
    attributes = posterior.to_arviz().attrs
    assert attributes["inference_library"] == "soma"
    assert attributes["inference_library_version"] == soma.__version__
    assert attributes["seed"] == 1 and attributes["kernel"] == posterior.settings.kernel
    assert "Laplace(epsilon=1.0" in attributes["release"]


def test_diagnostics_are_arviz_s(posterior):
    ours = posterior.summary()
    data = posterior.to_arviz()
    for column, theirs in [
        ("rhat", az.rhat(data)),
        ("ess_bulk", az.ess(data, method="bulk")),
        ("ess_tail", az.ess(data, method="tail", prob=(0.05, 0.95))),
    ]:
        theirs = getattr(theirs, "posterior", theirs)
        for name in posterior.parameters:
            assert float(theirs[name]) == pytest.approx(ours.loc[name, column], rel=1e-6)


def test_round_trip_through_a_file(posterior, tmp_path):
    data = posterior.to_arviz()
    path = tmp_path / "draws.nc"
    data.to_netcdf(path)
    again = az.from_netcdf(path)
    assert np.array_equal(again.posterior["mu"].values, posterior["mu"])
