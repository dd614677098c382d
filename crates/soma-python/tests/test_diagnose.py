"""Whether draws can be trusted, wherever they come from."""

import numpy as np
import pytest

import soma


@pytest.fixture
def posterior(release, model):
    return soma.fit(release, model, chains=4, warmup=300, draws=1000, seed=1)


def test_of_a_posterior(posterior):
    diagnosis = soma.diagnose(posterior)
    assert diagnosis.table.equals(posterior.summary())
    assert diagnosis.trusted and diagnosis.reason.startswith("The chains agree")
    assert diagnosis.reason in repr(diagnosis)


def test_of_arrays():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4, 1000, 2))
    assert soma.diagnose(draws).trusted
    assert list(soma.diagnose(draws).table.index) == ["x1", "x2"]
    apart = draws + np.arange(4)[:, None, None]
    assert "the chains disagree" in soma.diagnose(apart).reason
    assert not soma.diagnose(draws[:, :50]).trusted
    assert "one chain cannot disagree" in soma.diagnose(draws[:1, :, 0]).reason
    with pytest.raises(ValueError, match="does not hold draws"):
        soma.diagnose(draws[0, :, 0])


def test_chains_that_do_not_move():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(4, 1000))
    assert soma.diagnose(draws).reasons == ()
    still = soma.diagnose(np.full((4, 501), 0.1))
    assert not still.trusted and still.reasons == ("x1 never moved",)
    assert np.isnan(still.table.loc["x1", "ess_bulk"])
    sticky = draws.copy()
    sticky[2] = np.repeat(draws[2, :10], 100)
    assert any("only 9 times" in reason for reason in soma.diagnose(sticky).reasons)
    frozen = soma.Posterior(draws[None].copy(), ["mu"], np.zeros((4, 1000)), np.zeros((4, 1000)))
    (reason,) = soma.diagnose(frozen).reasons
    assert "accepted 0.00%" in reason and reason in repr(frozen)


def test_what_cannot_be_known(model, tmp_path):
    """A sharp release of few records needs a ladder, in memory and on disk."""
    release = soma.Release(
        query=soma.Mean(clamp=(0.0, 1.0)),
        statistic="mean",
        n=4,
        mechanism=soma.Laplace(epsilon=50.0),
        values=[0.5],
    )
    options = dict(chains=2, warmup=200, draws=200, moves="centred", seed=1)
    without = soma.fit(release, model, **options)
    stored = soma.fit(release, model, out=tmp_path / "run", **options)
    for source in (without, stored, tmp_path / "run"):
        assert any("no ladder" in reason for reason in soma.diagnose(source).reasons)
    assert "no ladder" in repr(without)
    ladder = soma.fit(release, model, **{**options, "moves": "auto"})
    assert not any("ladder" in reason for reason in soma.diagnose(ladder).reasons)


def test_of_a_table(posterior):
    pa = pytest.importorskip("pyarrow")
    assert soma.diagnose(pa.table(posterior)).table.equals(posterior.summary())


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(OSError, match="holds no run"):
        soma.open(tmp_path)
