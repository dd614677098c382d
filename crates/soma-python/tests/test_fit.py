"""Draws of the models that come with SOMA."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import soma


def test_shapes_and_names(release, model):
    posterior = soma.fit(release, model, chains=3, warmup=20, draws=30, seed=1)
    assert posterior.draws.shape == (3, 30, 2)
    assert posterior.parameters == ("mu", "sigma2")
    assert np.array_equal(posterior["sigma2"], posterior.draws[:, :, 1])
    assert posterior.acceptance.shape == posterior.log_density.shape == (3, 30)
    assert ((0 < posterior.acceptance) & (posterior.acceptance <= 1)).all()
    assert not posterior.interrupted
    assert posterior.settings.seed == 1
    assert "3 chains of 30 draws" in repr(posterior)
    with pytest.raises(KeyError, match="mu, sigma2"):
        posterior["tau"]


def test_same_seed_same_draws(release, model):
    options = dict(chains=3, warmup=20, draws=30)
    one = soma.fit(release, model, seed=7, threads=1, **options)
    many = soma.fit(release, model, seed=7, threads=3, **options)
    other = soma.fit(release, model, seed=8, **options)
    assert np.array_equal(one.draws, many.draws)
    assert not np.array_equal(one.draws, other.draws)


def test_defaults_are_those_of_the_library(release, model):
    settings = soma.fit(release, model, draws=10, progress=False).settings
    assert (settings.chains, settings.warmup, settings.thin, settings.seed) == (4, 1000, 1, 1)


KERNELS = ["auto", "soma", "soma-subset", "soma-blocks", "ran-imwg", "sys-imwg"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_agree(release, model, within_error, kernel):
    options = dict(chains=4, warmup=500, draws=3000)
    one = soma.fit(release, model, kernel=kernel, seed=3, **options)
    assert one.settings.kernel == kernel
    within_error(one, soma.fit(release, model, seed=4, **options))


def test_auto_says_what_it_took(release, model):
    posterior = soma.fit(release, model, chains=2, warmup=100, draws=10)
    assert posterior.settings.kernel == "auto"
    assert len(posterior.chosen) == 2
    for chosen in posterior.chosen:
        assert [tried.kernel for tried in chosen.tried] == ["sys-imwg", "soma", "soma-blocks"]
        best = max(chosen.tried, key=lambda tried: tried.merit)
        assert best.kernel == chosen.kernel and best.merit == 1.0
        assert all(0 < tried.draws_per_sweep <= 1 < tried.work for tried in chosen.tried)
    assert soma.fit(release, model, kernel="soma", draws=10).chosen == ()


def test_subset(release, model):
    options = dict(kernel="soma-subset", chains=1, warmup=1, draws=10)
    random = soma.fit(release, model, subset=8, order="random", **options)
    cyclic = soma.fit(release, model, subset=8, order="cyclic", **options)
    assert not np.array_equal(random.draws, cyclic.draws)


def test_summary_is_a_frame(release, model):
    summary = soma.fit(release, model, chains=2, warmup=100, draws=200).summary()
    assert isinstance(summary, pd.DataFrame)
    assert list(summary.index) == ["mu", "sigma2"]
    assert list(summary.columns) == [
        "mean", "sd", "q5", "q50", "q95", "mcse_mean", "rhat", "ess_bulk", "ess_tail",
    ]  # fmt: skip
    assert (summary["q5"] < summary["q95"]).all()


def test_all_columns_are_shown(release, model):
    posterior = soma.fit(release, model, chains=2, warmup=100, draws=200)
    for text in (repr(posterior), str(posterior), repr(soma.diagnose(posterior))):
        assert "..." not in text and all(name in text for name in posterior.summary().columns)


def test_fixed_parameters_give_draws_of_the_records(release):
    model = soma.Normal(
        prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0),
        fixed={"mu": 0.5, "sigma2": 1.0},
        summaries=["mean", 0.5],
    )
    posterior = soma.fit(release, model, chains=2, warmup=50, draws=50)
    assert posterior.parameters == ("mean_x1", "q50_x1")
    assert abs(posterior["mean_x1"].mean() - 0.47) < 0.1


@pytest.mark.parametrize(
    "options, field",
    [
        (dict(kernel="som"), "sampler.kernel"),
        (dict(draws=0), "sampler.draws"),
        (dict(chains=-1), "sampler.chains"),
        (dict(subset=4), "sampler.subset"),
        (dict(seed=-1), "sampler.seed"),
        (dict(warmup=0.5), "sampler.warmup"),
    ],
)
def test_errors_name_the_option(release, model, options, field):
    with pytest.raises(ValueError, match=f"^{field}: .*Allowed: "):
        soma.fit(release, model, **options)


@pytest.mark.parametrize(
    "call, options",
    [
        (soma.fit, dict(threads=0)),
        (soma.fit, dict(threads=2.5)),
        (soma.couple, dict(pairs=0)),
        (soma.couple, dict(pairs=True)),
        (soma.couple, dict(lag=0)),
        (soma.couple, dict(max_iterations=0)),
        (soma.couple, dict(window=5)),
        (soma.couple, dict(window=(1, -2))),
        (soma.couple, dict(threads=-1)),
        (soma.calibrate, dict(replications=0)),
        (soma.calibrate, dict(replications="many")),
        (soma.calibrate, dict(threads=0)),
    ],
)
def test_counts_are_named(release, model, call, options):
    (name,) = options
    with pytest.raises(ValueError, match=rf"^{name}(\[1\])?: .*\(given: .*Allowed: "):
        call(release, model, **options)


@pytest.mark.parametrize("call", [soma.fit, soma.couple, soma.calibrate])
def test_where_and_how_to_run(release, model, call):
    with pytest.raises(TypeError, match="^executor: must be a concurrent.futures.Executor"):
        call(release, model, executor=4)
    with pytest.raises(TypeError, match="^progress: must be True, False or a function"):
        call(release, model, progress="yes")


def test_wrong_kinds_of_arguments(release, model):
    with pytest.raises(TypeError, match="release: must be a soma.Release"):
        soma.fit([0.4], model)
    with pytest.raises(TypeError, match="model: must be"):
        soma.fit(release, "normal")
    with pytest.raises(ValueError, match="model.prior.rate"):
        soma.fit(release, soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=-2.0)))


def test_priors_are_looked_at_when_a_model_is_made():
    for make, text in [
        (lambda: soma.Normal(), r"^Normal.prior: is missing. Allowed: prior=soma.NormalInverse"),
        (lambda: soma.Normal(prior=soma.Gamma(1.0, 1.0)), "^Normal.prior: is of the wrong kind"),
        (
            lambda: soma.Categorical(soma.Dirichlet(3, prior=soma.Gamma(1.0, 1.0))),
            r"^Categorical.prior: is of the wrong kind .*soma.DirichletPrior\(1.0\)",
        ),
        (lambda: soma.Regression(predictors=3), "^Regression.predictors: is of the wrong kind|prior"),
    ]:
        with pytest.raises(TypeError, match=text):
            make()
    prior = soma.NormalInverseGamma(mean=0.0, shape=1.0, rate=1.0)
    with pytest.raises(ValueError, match="^Normal.prior: takes lambda_, not precision"):
        soma.Normal(prior=prior)
    with pytest.raises(ValueError, match="^Regression.prior: takes precision, not lambda_"):
        soma.Regression(predictors=soma.Predictors(mean=[0.0]), prior=prior)


def test_what_a_release_cannot_come_from(model):
    release = soma.Release(
        query=soma.Mean(clamp=(0.0, 10.0)),
        statistic="mean",
        n=100,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[4.2],
    )
    with pytest.raises(ValueError, match=r"^release.values\[0\]: is .* of the beta model"):
        soma.fit(release, soma.Beta(prior=soma.Gamma(1.0, 0.1)))
    with pytest.raises(ValueError, match=r"^model.dim: .*given: 3 shares.*Allowed: 1, one for"):
        soma.fit(release, soma.Dirichlet(3, prior=soma.Gamma(1.0, 0.1)))
    own = dataclasses.replace(release, query=soma.CustomQuery(np.cos, bounds=[(-10.0, 10.0)]))
    with pytest.raises(ValueError, match="^model.dim: a query of your own does not say how many"):
        soma.fit(own, soma.Dirichlet(prior=soma.Gamma(1.0, 0.1)))


def test_model_must_fit_the_query(model):
    release = soma.Release(
        query=soma.Mean(clamp=[(0.0, 1.0), (0.0, 1.0)]),
        statistic="sum",
        n=10,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[1.0, 2.0],
    )
    with pytest.raises(ValueError, match="records do not fit the query"):
        soma.fit(release, model)


def test_draws_are_read_only(release, model):
    posterior = soma.fit(release, model, chains=1, warmup=1, draws=5)
    with pytest.raises(ValueError, match="read-only"):
        posterior.draws[0, 0, 0] = 1.0


def test_a_run_that_cannot_fit_is_refused(model):
    """Before anything is allocated: a thousand million records take tens of gigabytes."""
    release = soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=1_000_000_000,
        mechanism=soma.Laplace(epsilon=1.0), values=[0.4])  # fmt: skip
    with pytest.raises(MemoryError, match="memory: the run does not fit .given: about"):
        soma.fit(release, model, chains=64, threads=64, progress=False)
