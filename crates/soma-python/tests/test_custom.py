"""Models and queries of a user's own."""

import dataclasses
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


def test_built_in_models_take_a_query_of_the_users_own(release, model, within_error, tmp_path):
    query = soma.CustomQuery(lambda x: np.clip(x, -5.0, 5.0), bounds=[(-5.0, 5.0)])
    own = dataclasses.replace(release, query=query)
    options = dict(chains=4, warmup=500, draws=2000, progress=False)
    within_error(soma.fit(own, model, seed=1, **options), soma.fit(release, model, **options))
    stored = soma.fit(own, model, out=tmp_path / "run", **SHORT)
    again = soma.open(tmp_path / "run", release=own, model=model)
    assert np.array_equal(again.draws, stored.draws) and again.model == model
    more = soma.fit(own, model, out=tmp_path / "run", resume=True, **{**SHORT, "draws": 40})
    assert np.array_equal(more.draws[:, :20], stored.draws)


def test_a_query_of_the_users_own_has_the_records_of_the_model(within_error):
    """The cross moment of a regression, as a function and as text, and one of categories."""
    prior = soma.NormalInverseGamma(mean=0.0, precision=0.5, shape=10.0, rate=10.0)
    model = soma.Regression(predictors=soma.Predictors(mean=[0.0, 0.0]), prior=prior)
    product = lambda r: np.clip(r[:, :1] * r[:, 2:], -9.0, 9.0)
    common = dict(statistic="mean", n=60, mechanism=soma.Laplace(scale=0.05), values=[0.8])
    own = soma.Release(query=soma.CustomQuery(product, bounds=[(-9.0, 9.0)]), **common)
    text = soma.Release(query=soma.Statistics(["clamp(x1 * y, -9, 9)"]), **common)
    options = dict(chains=4, warmup=500, draws=1500, progress=False)
    found = soma.fit(own, model, **options)
    assert found["beta1"].mean() > 0.4
    within_error(found, soma.fit(text, model, seed=7, **options))
    even = soma.CustomQuery(lambda r: (r % 2 == 0).astype(float), bounds=[(0.0, 1.0)], integer=True)
    counted = soma.Release(
        query=even, statistic="sum", n=40, mechanism=soma.DiscreteLaplace(scale=0.5), values=[30]
    )
    shares = soma.fit(counted, soma.Categorical(prior=soma.DirichletPrior([1.0] * 3)), **options)
    assert shares.parameters == ("p0", "p1", "p2", "count[0]", "count[1]", "count[2]")
    assert abs((shares["p0"] + shares["p2"]).mean() - 32 / 43) < 0.02


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
        (dict(propose=lambda s, t, n, rng: np.full(n, 1j)), "not an array of numbers .*complex"),
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


def carried(**methods):
    """A model with transport, of which a test breaks a method."""
    right = dict(
        sample_prior=lambda self, rng: [rng.normal()],
        log_prior=lambda self, theta: -0.5 * theta[0] ** 2,
        transport=lambda self, records, theta, new_theta: records + new_theta[0] - theta[0],
    )
    return broken(**{**right, **methods})


def test_a_transport_that_cannot_be_right_is_named(release):
    def wrong(transport):
        with pytest.raises(ValueError, match=r"^Broken\.transport: does not return the records"):
            soma.fit(release, carried(transport=transport), **SHORT)

    wrong(lambda self, records, theta, new_theta: np.full_like(records, np.nan))
    wrong(lambda self, records, theta, new_theta: np.full_like(records, np.inf))
    wrong(lambda self, records, theta, new_theta: records - theta[0] + 0.1)
    with pytest.raises(ValueError, match=r"^Broken\.transport: returned an array of the wrong"):
        soma.fit(release, carried(transport=lambda s, x, t, u: x[0]), **SHORT)


def test_a_transport_that_overflows_is_refused_and_no_more(release):
    def transport(self, records, theta, new_theta):
        far = abs(new_theta[0] - theta[0]) > 0.5
        return records + (np.inf if far else new_theta[0] - theta[0])

    options = dict(chains=4, warmup=500, draws=4000, moves="interwoven")
    one = soma.fit(release, carried(transport=transport), seed=1, **options)
    assert np.isfinite(one.draws).all()


def test_a_transport_that_is_never_of_use_is_a_warning(release):
    def transport(self, records, theta, new_theta):
        return records if theta[0] == new_theta[0] else np.full_like(records, np.nan)

    with pytest.warns(UserWarning, match=r"^Broken\.transport: in a whole chain it never"):
        soma.fit(release, carried(transport=transport), **SHORT)


def test_a_start_without_prior_density_is_named(release):
    nowhere = carried(log_prior=lambda self, theta: -np.inf)
    with pytest.raises(ValueError, match=r"^Broken\.log_prior: the prior density is 0 where"):
        soma.fit(release, nowhere, **SHORT)


def test_an_update_to_where_there_is_no_prior_density_is_named(release):
    model = carried(
        log_prior=lambda self, theta: 0.0 if abs(theta[0]) < 5 else -np.inf,
        update=lambda self, theta, records, rng: [7.0],
    )
    with pytest.raises(ValueError, match=r"^model\.log_prior: the prior density is 0 at a theta"):
        soma.fit(release, model, **SHORT)


def test_half_of_what_moves_theta_with_the_records(release):
    with pytest.raises(ValueError, match=r"^Broken\.log_prior: is missing"):
        soma.fit(release, carried(log_prior=soma.Model.log_prior), **SHORT)
    with pytest.warns(UserWarning, match=r"^Broken\.transport: is missing"):
        soma.fit(release, carried(transport=soma.Model.transport), **SHORT)


@pytest.mark.parametrize("wrong, right", [
    ("logprior", "log_prior"), ("log_Prior", "log_prior"), ("trasport", "transport"),
    ("samplePrior", "sample_prior"),
])  # fmt: skip
def test_a_method_with_nearly_the_right_name(release, wrong, right):
    with pytest.raises(ValueError, match=rf"^Broken\.{wrong}: .*did you mean {right}\?"):
        soma.fit(release, broken(**{wrong: lambda self, theta: 0.0}), **SHORT)


def test_helpers_may_have_names_of_their_own(release):
    names = ["log_posterior", "log_likelihood", "updated_mean", "density", "prior"]
    helpers = {name: lambda self, theta: 0.0 for name in names}
    assert soma.fit(release, carried(**helpers), **SHORT).draws.shape == (2, 20, 1)


def test_parameters_must_be_columns_of_a_table(release):
    with pytest.raises(ValueError, match=r"^Broken\.parameters: two parameters have one name"):
        soma.fit(release, broken(parameters=["mu", "mu"]), **SHORT)
    for name in ("chain", "draw", "acceptance", "log_density"):
        with pytest.raises(ValueError, match=rf"^Broken\.parameters: .*given: '{name}'"):
            soma.fit(release, broken(parameters=[name]), **SHORT)


def test_missing_parts_are_named(release):
    class Misspelled(soma.Model):
        parameters = ["mu"]

        def propse(self, theta, size, rng):
            return rng.normal(size=size)

    with pytest.raises(TypeError, match="no method propose.*did you mean it by propse"):
        soma.fit(release, Misspelled())

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
