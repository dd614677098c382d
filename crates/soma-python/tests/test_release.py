"""What is allowed is decided, and said, by the library."""

import pickle

import numpy as np
import pytest

import soma


def release(**changes):
    fields = dict(
        query=soma.Mean(clamp=(0.0, 1.0)),
        mechanism=soma.Laplace(epsilon=1.0),
        n=10,
        values=[0.5],
        statistic="mean",
    )
    return soma.Release(**{**fields, **changes})


def test_scale_follows_from_budget():
    assert release().scales == (0.1,)
    assert release(statistic="sum", values=[5.0]).scales == (1.0,)
    assert release(mechanism=soma.Laplace(scale=0.3)).scales == (0.3,)
    assert release(mechanism=soma.Laplace(epsilon=2.0, sensitivity=4.0)).scales == (0.2,)
    assert release(mechanism=soma.Gaussian(rho=0.5)).scales == (0.1,)


@pytest.mark.parametrize(
    "changes, field",
    [
        (dict(n=0), "release.n"),
        (dict(n="ten"), "release.n"),
        (dict(query=soma.Mean(clamp=[(0, 1)]), values=[0.1, 0.2]), "release.values"),
        (dict(values=[float("nan")]), "release.values[0]"),
        (dict(statistic="median"), "release.statistic"),
        (dict(query=soma.Mean(clamp=(1.0, 0.0))), "release.query.clamp"),
        (dict(mechanism=soma.Laplace(epsilon=-1.0)), "release.mechanism.epsilon"),
        (dict(mechanism=soma.Laplace()), "release.mechanism"),
        (dict(mechanism=soma.Laplace(epsilon=1.0, scale=1.0)), "release.mechanism.scale"),
        (dict(mechanism=soma.DiscreteLaplace(epsilon=1.0)), "release.mechanism.kind"),
    ],
)
def test_errors_name_the_field_and_what_is_allowed(changes, field):
    with pytest.raises(ValueError) as caught:
        release(**changes)
    text = str(caught.value)
    assert text.startswith(f"{field}") and "(given: " in text and "Allowed: " in text


def test_values_may_be_an_array():
    assert release(values=np.array([0.5])) == release()
    assert release(query=soma.Mean(clamp=[[0, 1]]), n=np.int64(10)).scales == (0.1,)


def test_pickles_and_compares():
    assert pickle.loads(pickle.dumps(release())) == release()
    assert release() != release(values=[0.6])


def test_what_is_not_a_value_is_a_type_error():
    with pytest.raises(TypeError, match="not a number"):
        release(values=[object()])


def test_statistics_of_a_custom_query_are_labelled():
    query = soma.CustomQuery(lambda x: x, bounds=[(0.0, 1.0)] * 2)
    assert release(query=query, values=[0.1, 0.2]).labels == ("t1", "t2")


def test_bounds_of_a_custom_query_are_checked():
    with pytest.raises(ValueError, match=r"release.query.bounds\[0\]"):
        release(query=soma.CustomQuery(lambda x: x, bounds=[(1.0, 0.0)]))
    with pytest.raises(TypeError, match="must be a function"):
        soma.CustomQuery("sum", bounds=[(0.0, 1.0)])
