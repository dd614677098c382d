"""Tables of noisy counts of many groups."""

import pandas as pd
import pytest

import soma

TABLE = pd.DataFrame(
    {
        "group": ["north", "north", "south", "south"],
        "cell": ["a", "b", "a", "b"],
        "value": [12, 3, 12, 3],
        "scale": [2.0] * 4,
        "n": [None, None, 15, 15],
    }
)


def test_groups_have_the_exact_answers():
    fits = soma.fit_groups(TABLE, noise="discrete-laplace", draws=5000, progress=False)
    assert fits.trusted and fits.shared.empty
    for group, exact in [("north", 0.74876), ("south", 0.76105)]:
        row = fits[group].loc["p[a]"]
        assert abs(row["mean"] - exact) < 4.5 * row["mcse_mean"]
    assert "n" in fits["north"].index and "n" not in fits["south"].index


@pytest.mark.parametrize("pool", [False, True])
def test_counts_are_clamped_or_suppressed(pool):
    table = pd.DataFrame({"group": "x", "cell": ["a", "b"], "value": [95, "suppressed"]})
    noisy = dict(noise="discrete-gaussian", scale=10.0, draws=4000, progress=False, pool=pool)
    fits = soma.fit_groups(table, threshold=90, **noisy)
    row = fits["x"].loc["p[a]"]
    assert pool or abs(row["mean"] - 0.72406) < 4.5 * row["mcse_mean"]
    with pytest.raises(ValueError, match="row 2: a count is not shown"):
        soma.fit_groups(table, **noisy)
    clamped = pd.DataFrame({"group": "x", "cell": ["a", "b"], "value": [12, 0]})
    fits = soma.fit_groups(clamped, clamp_at_zero=True, **{**noisy, "scale": 3.0})
    row = fits["x"].loc["p[a]"]
    assert pool or abs(row["mean"] - 0.83629) < 4.5 * row["mcse_mean"]


def test_pooled_groups_have_a_common_prior(tmp_path):
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    seen = []
    fits = soma.fit_groups(path, noise="discrete-laplace", pool=True, draws=2000, progress=seen.append)
    assert list(fits.shared["parameter"]) == ["concentration", "mean[a]", "mean[b]"]
    assert set(fits.results["group"]) == {"north", "south"}
    assert seen and seen[-1].total == 4 * 3000


def test_parquet_is_read(tmp_path):
    path = tmp_path / "table.parquet"
    TABLE.to_parquet(path)
    options = dict(noise="discrete-laplace", warmup=100, draws=100, progress=False)
    one = soma.fit_groups(path, **options)
    pd.testing.assert_frame_equal(one.results, soma.fit_groups(TABLE, **options).results)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"noise": "white"}, "noise: there is no such kind"),
        ({"scale": 3.0}, "a column scale and an option"),
        ({"neighbours": "none"}, "neighbours"),
        ({"alpha": -1.0}, "alpha"),
        ({"chains": 0}, "chains"),
    ],
)
def test_bad_options_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        soma.fit_groups(TABLE, **{"noise": "discrete-laplace", **change})


def test_missing_cells_are_named():
    with pytest.raises(ValueError, match="group south has no row"):
        soma.fit_groups(TABLE[:-1], noise="discrete-laplace")
