"""Models and queries of a user's own."""

import traceback

import numpy as np
import pytest

import soma

SHORT = dict(chains=2, warmup=20, draws=20, progress=False)


def test_same_posterior_as_in_rust(release, model, own_model, within_error):
    options = dict(chains=4, warmup=500, draws=4000)
    within_error(
        soma.fit(release, own_model, seed=1, **options), soma.fit(release, model, seed=2, **options)
    )


def test_same_posterior_with_transport(release, model, carried_model, within_error):
    options = dict(chains=4, warmup=500, draws=4000)
    carried = soma.fit(release, carried_model, seed=1, **options)
    within_error(carried, soma.fit(release, model, seed=2, **options))


def test_transport_mixes_faster(release, own_model, carried_model):
    options = dict(chains=4, warmup=500, draws=1000, seed=1)
    plain = soma.fit(release, own_model, **options).summary()["ess_bulk"].min()
    carried = soma.fit(release, carried_model, **options).summary()["ess_bulk"].min()
    assert carried > 3 * plain


def test_same_seed_same_draws(release, carried_model):
    one = soma.fit(release, carried_model, seed=5, threads=1, **SHORT)
    two = soma.fit(release, carried_model, seed=5, threads=2, **SHORT)
    assert np.array_equal(one.draws, two.draws)
    assert not np.array_equal(one["mu"][0], one["mu"][1])


def test_same_posterior_of_a_custom_query(release, model, own_model, within_error):
    query = soma.CustomQuery(lambda x: np.clip(x, -5.0, 5.0), bounds=[(-5.0, 5.0)])
    own = soma.Release(
        query=query, statistic="mean", n=100, mechanism=soma.Laplace(epsilon=1.0), values=[0.4]
    )
    assert own.scales == release.scales
    options = dict(chains=4, warmup=500, draws=3000)
    built_in = soma.fit(release, model, seed=2, **options)
    within_error(soma.fit(own, own_model, seed=1, **options), built_in)
    same = soma.fit(own, own_model, seed=1, **SHORT)
    assert np.array_equal(same.draws, soma.fit(release, own_model, seed=1, **SHORT).draws)


def test_a_sweep_is_a_handful_of_calls(own_model):
    calls = []

    class Counted(type(own_model)):
        def propose(self, theta, size, rng):
            calls.append(size)
            return super().propose(theta, size, rng)

    n = 10_000
    release = soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=n,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[0.4],
    )
    soma.fit(release, Counted(), kernel="sys-imwg", chains=1, warmup=5, draws=5)
    assert calls.count(n) == 11 and len(calls) <= 14


class Broken(soma.Model):
    """Each test breaks one of its methods."""

    parameters = ["mu"]

    def initial(self, rng):
        return [0.0]

    def propose(self, theta, size, rng):
        return rng.normal(theta[0], size=size)

    def update(self, theta, records, rng):
        return [records.mean()]


def broken(**methods):
    return type("Broken", (Broken,), methods)()


def test_rows_of_one_number_may_be_a_vector(release):
    assert soma.fit(release, broken(), **SHORT).draws.shape == (2, 20, 1)


def test_exceptions_keep_their_traceback(release):
    def update(self, theta, records, rng):
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        soma.fit(release, broken(update=update), **SHORT)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "update" and frames[-1].filename == __file__


@pytest.mark.parametrize(
    "methods, text",
    [
        (dict(propose=lambda s, t, n, rng: np.zeros((n + 1, 1))), "wrong shape"),
        (dict(propose=lambda s, t, n, rng: np.full((n, 1), np.nan)), "cannot be used, at place 0"),
        (dict(propose=lambda s, t, n, rng: ["a"] * n), "not an array of numbers"),
        (dict(update=lambda s, t, x, rng: [1.0, 2.0]), r"shape \(1,\), one number for each"),
        (dict(update=lambda s, t, x, rng: [np.inf]), "cannot be used"),
        (dict(initial=lambda s, rng: 0.0), "wrong shape"),
        (
            dict(
                log_prior=lambda s, t: float("nan"),
                transport=lambda s, x, t, u: x + u[0] - t[0],
                sample_prior=lambda s, rng: [rng.normal()],
            ),
            "not a log density",
        ),
        (
            dict(
                log_prior=lambda s, t: 0.0,
                transport=lambda s, x, t, u: x[:-1],
                sample_prior=lambda s, rng: [rng.normal()],
            ),
            "wrong shape",
        ),
    ],
)
def test_wrong_returns_are_named(release, methods, text):
    moves = "interwoven" if "transport" in methods else "centred"
    with pytest.raises(ValueError, match=rf"^Broken\.\w+: .*{text}"):
        soma.fit(release, broken(**methods, record_dim=1), moves=moves, **SHORT)


def test_missing_parts_are_named(release):
    class Empty(soma.Model):
        parameters = ["mu"]

    with pytest.raises(TypeError, match="no method propose"):
        soma.fit(release, Empty())
    with pytest.raises(TypeError, match="list of names"):
        soma.fit(release, broken(parameters="mu"))
    with pytest.raises(TypeError, match="neither initial nor sample_prior"):
        soma.fit(release, broken(initial=soma.Model.initial))


def query_release(function, **options):
    return soma.Release(
        query=soma.CustomQuery(function, bounds=[(0.0, 1.0)], **options),
        statistic="sum",
        n=10,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[4.0],
    )


@pytest.mark.parametrize(
    "function, options, text",
    [
        (lambda x: x + 5, {}, "outside its bounds, in column 0"),
        (lambda x: np.clip(x, 0, 1)[:3], {}, "wrong shape"),
        (lambda x: np.full_like(x, 0.5), dict(integer=True), "not whole"),
    ],
)
def test_wrong_statistics_are_named(function, options, text):
    with pytest.raises(ValueError, match=f"^query.function: .*{text}"):
        soma.fit(query_release(function, **options), broken(), **SHORT)


def test_discrete_noise_on_own_counts():
    release = soma.Release(
        query=soma.CustomQuery(lambda x: (x > 0).astype(float), bounds=[(0.0, 1.0)], integer=True),
        statistic="sum",
        n=50,
        mechanism=soma.DiscreteLaplace(epsilon=1.0),
        values=[30],
    )
    assert soma.fit(release, broken(), **SHORT).draws.shape == (2, 20, 1)


def test_records_of_more_dimensions():
    class Plane(Broken):
        parameters = ["mu", "nu"]

        def initial(self, rng):
            return rng.normal(size=2)

        def propose(self, theta, size, rng):
            return theta + rng.normal(size=(size, 2))

        def update(self, theta, records, rng):
            return records.mean(axis=0) + rng.normal(size=2) / np.sqrt(len(records))

    release = soma.Release(
        query=soma.CustomQuery(
            lambda x: np.clip(x.sum(axis=1, keepdims=True), -9, 9), bounds=[(-9.0, 9.0)]
        ),
        statistic="mean",
        n=200,
        mechanism=soma.Laplace(scale=0.05),
        values=[3.0],
    )
    posterior = soma.fit(release, Plane(), chains=2, warmup=300, draws=300)
    assert abs((posterior["mu"] + posterior["nu"]).mean() - 3.0) < 0.5
