"""Models and statistics as text, and predicted releases."""

import numpy as np
import pytest

import soma

PARAMETERS = "p ~ beta(a, 2)"
RECORD = "yes ~ bernoulli(p)"


def release(values=(31.0,), n=100):
    return soma.Release(
        query=soma.Statistics(["yes"]),
        statistic="sum",
        n=n,
        mechanism=soma.Laplace(epsilon=1.0),
        values=list(values),
    )


def fitted(**options):
    model = soma.Model(PARAMETERS, RECORD, a=2)
    return soma.fit(release(), model, chains=2, warmup=200, draws=500, progress=False, **options)


def test_text_is_fitted_as_the_spec_of_the_same_text():
    posterior = fitted(seed=3)
    spec = soma.parse_spec(
        f"""
        [release]
        n = 100
        statistic = "sum"
        values = [31.0]
        statistics = ["yes"]
        mechanism = {{ kind = "laplace", epsilon = 1.0 }}
        [model]
        parameters = "{PARAMETERS}"
        record = "{RECORD}"
        data = {{ a = 2 }}
        """
    )
    assert isinstance(spec.model, soma.TextModel)
    again = spec.fit(chains=2, warmup=200, draws=500, seed=3, progress=False)
    assert (again.draws == posterior.draws).all()
    assert posterior.parameters == ("p", "count[yes=0]", "count[yes=1]")
    assert abs(posterior["p"].mean() - 33 / 104) < 0.02


def test_a_mistake_in_a_text_says_where():
    with pytest.raises(ValueError, match="line 1, column 17: unknown name `q`"):
        soma.fit(release(), soma.Model("p ~ beta(1, 2)", "yes ~ bernoulli(q)"))
    with pytest.raises(ValueError) as both:
        soma.fit(release(), soma.Model("p ~ beta(1, 2);\nr ~ flat()", "yes ~ bernoulli(q)"))
    for place in ["model.parameters, line 1", "model.parameters, line 2", "model.record, line 1"]:
        assert place in str(both.value)
    with pytest.raises(TypeError, match=r"soma.Model\(parameters, record"):
        soma.Model()
    with pytest.raises(TypeError, match="model.record"):
        soma.Model("p ~ beta(1, 2)", 3)
    with pytest.raises(ValueError, match="model"):
        release().scales


def test_subclasses_are_made_as_before():
    class Own(soma.Model):
        parameters = ["rate"]

        def __init__(self, shape, *, rate):
            self.shape, self.rate = shape, rate

    own = Own(2.0, rate=3.0)
    assert isinstance(own, soma.Model) and (own.shape, own.rate) == (2.0, 3.0)


def test_predicted_releases_surround_the_published_one():
    posterior = fitted()
    predicted = posterior.predict(draws=2000)
    assert predicted.values.shape == (2000, 1)
    # Binomial records at p about 0.32 and Laplace noise of scale 1: within 5 standard errors.
    expected = 100 * posterior["p"].mean()
    assert abs(predicted.values.mean() - expected) < 5 * predicted.values.std() / np.sqrt(2000)
    assert predicted.p_values["yes"] > 0.1
    assert (posterior.predict(draws=2000).values == predicted.values).all()
    far = posterior.predict(release(values=[90.0]), draws=2000)
    assert far.p_values["yes"] < 0.01
    assert posterior.predict(release(n=1000), draws=50).values.mean() > 200
    assert "published" in repr(far)


def test_built_in_models_predict_too():
    given = soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)),
        statistic="mean",
        n=50,
        mechanism=soma.Laplace(epsilon=1.0),
        values=[0.4],
    )
    prior = soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0)
    posterior = soma.fit(
        given, soma.Normal(prior=prior), chains=2, warmup=200, draws=300, progress=False
    )
    assert posterior.predict(draws=500).p_values.iloc[0] > 0.1


def test_text_can_be_calibrated():
    found = soma.calibrate(
        release(n=6), soma.Model(PARAMETERS, RECORD, a=2), replications=40, progress=False
    )
    assert found.p_value > 1e-4


def test_what_the_parameters_compute_is_in_the_posterior(tmp_path):
    lines = f"{PARAMETERS}\nodds = p / (1 - p)\nmost = p > 0.9\nboth = [p, 2 * p]"
    options = {"chains": 2, "warmup": 200, "draws": 500, "seed": 3, "progress": False}
    model = soma.Model(lines, RECORD, a=2)
    derived = {"log odds": "log(odds)"}
    posterior = soma.fit(release(), model, **options, derived=derived)
    assert (posterior["p"] == fitted(seed=3)["p"]).all()
    np.testing.assert_allclose(posterior["odds"], posterior["p"] / (1 - posterior["p"]))
    np.testing.assert_allclose(posterior["both[2]"], 2 * posterior["p"])
    np.testing.assert_allclose(posterior["log odds"], np.log(posterior["odds"]))
    # A comparison that is the same in all draws is a probability, and no reason against the draws.
    assert (posterior["most"] == 0).all()
    assert "most was 0 in all 1000 draws" in soma.diagnose(posterior).reason
    assert posterior.predict(draws=50).values.shape == (50, 1)
    assert "odds" in posterior.report(tmp_path / "report.html").read_text()
    # Chosen by name; and the same from a folder and from a spec.
    model = soma.Model(lines, RECORD, a=2, outputs=["most", "odds"])
    folder = tmp_path / "run"
    stored = soma.fit(release(), model, **options, out=folder)
    assert stored.parameters == ("p", "count[yes=0]", "count[yes=1]", "odds", "most")
    again = soma.open(folder)
    assert again.parameters == stored.parameters and again.model == model
    assert "most was 0 in all 1000 draws" in soma.diagnose(again).reason
    with pytest.raises(ValueError, match="outputs"):
        soma.fit(release(), soma.Model(lines, RECORD, a=2, outputs=["p"]), **options)
