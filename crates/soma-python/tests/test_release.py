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


def test_what_is_missing_is_not_taken_for_something_else():
    with pytest.raises(ValueError, match="^release.values: there is no released value"):
        release(values=[])
    with pytest.raises(TypeError, match=r"^release.query: .*given: the class Mean"):
        release(query=soma.Mean)
    with pytest.raises(TypeError, match=r"^release.mechanism: .*given: the class Laplace"):
        release(mechanism=soma.Laplace)
    with pytest.raises(TypeError, match="^Laplace: has no setting rho. Allowed: epsilon or scale"):
        soma.Laplace(rho=1)
    with pytest.raises(ValueError, match=r"did you mean mean\?$"):
        release(statistic="means")


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
    for bounds in ((0.0, 10.0), [(0.0, 1.0, 2.0)], 3):
        with pytest.raises(ValueError, match="^bounds: must be a list of pairs"):
            soma.CustomQuery(lambda x: x, bounds=bounds)


def test_discrete_noise_needs_whole_statistics():
    query = soma.CustomQuery(lambda x: x, bounds=[(0.0, 1.0)])
    discrete = dict(mechanism=soma.DiscreteLaplace(epsilon=1.0), statistic="sum", values=[5])
    with pytest.raises(ValueError, match=r"^release.mechanism.kind: .*integer=True in the query"):
        release(query=query, **discrete)
