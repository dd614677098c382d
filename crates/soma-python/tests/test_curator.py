import json
import warnings

import numpy as np
import pandas as pd
import pytest

import soma

SPEC = """
[release]
statistic = "sum"
query = { kind = "mean", clamp = [[0.0, 10.0], [-4.0, 4.0]] }
mechanism = { kind = "laplace", epsilon = 2.0 }

[data]
columns = ["age", "score"]
"""

PLAN = """
[release]
n = 20
statistic = "mean"
query = { kind = "mean", clamp = [-5.0, 5.0] }
mechanism = { kind = "laplace", epsilon = 1.0 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.5, shape = 3.0, rate = 3.0 }

[plan]
epsilon = [1, 100]
replications = 4
warmup = 50
draws = 100
"""


@pytest.fixture(autouse=True)
def counted():
    """The warning that nothing is counted is tested apart."""
    soma.curator._warned.append("ledger")


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.uniform(0, 12, 50), "score": rng.normal(0, 1, 50)})


@pytest.fixture
def dp():
    return pytest.importorskip("opendp.prelude")


def test_a_plan_says_what_is_learned():
    plan = soma.plan(PLAN, target="sd(mu) < 5", progress=False)
    assert plan.answer.startswith("Epsilon 1 is enough")
    widths = plan.table.query("name == 'mu'").set_index("budget")["width"]
    assert widths[1.0] > widths[100.0]
    again = soma.plan(PLAN, target="sd(mu) < 5", progress=False, threads=1)
    assert again.report == plan.report
    assert set(plan.table["replications"]) == {4} and (plan.table["unsettled"] <= 4).all()
    assert set(plan.floor["name"]) == {"mu", "sigma2"}
    with pytest.raises(ValueError, match="sd\\(NAME\\)"):
        soma.plan(PLAN, target="mu < 5", progress=False)


def test_a_missing_column_is_the_first_error(frame):
    with pytest.raises(ValueError, match="no column \"score\".*age"):
        soma.release(SPEC, frame.drop(columns="score"))
    with pytest.raises(ValueError, match="missing"):
        soma.release(SPEC, frame.assign(age=frame["age"].where(frame.index > 0)))
    with pytest.raises(TypeError, match="pandas"):
        soma.release(SPEC, [1.0, 2.0])


def test_frames_of_all_kinds_give_a_release(dp, frame):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    kinds = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), dict(frame)]
    for kind in kinds:
        released = soma.release(SPEC, kind)
        exact = [frame["age"].clip(0, 10).sum(), frame["score"].clip(-4, 4).sum()]
        gaps = np.abs(np.array(released.release.values) - exact)
        assert (gaps > 1e-9).all() and (gaps < 9 * 40).all()
        assert released.release.n == 50


def test_the_guarantee_is_that_of_opendp(dp, frame):
    released = soma.release(SPEC, frame)
    # The scale is rounded up to nine digits.
    assert released.epsilon == pytest.approx(2.0, abs=1e-7) and released.rho == 0.0
    scale = released.release.mechanism.scale
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    dp.enable_features("contrib")
    # The exact sensitivity of the two sums is 18; the lattice that they are summed on adds a little.
    stated = dp.m.make_laplace(*space, scale=scale).map(18.0)
    assert stated <= released.epsilon and stated == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("granularity", [None, 0.5, 8.0])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_guarantee_of_each_law_is_that_of_opendp(dp, frame, kind, granularity):
    is_laplace = kind == "laplace"
    budget = "epsilon" if is_laplace else "rho"
    noise = f'kind = "{kind}", {budget} = 2.0'
    if granularity is not None:
        noise = f'kind = "discrete-{kind}", {budget} = 2.0, granularity = {granularity}'
    spec = SPEC.replace('kind = "laplace", epsilon = 2.0', noise)
    released = soma.release(spec, frame)
    scale = released.release.mechanism.scale
    # The exact sensitivity of the two sums, of widths 10 and 8.
    sensitivity = 18.0 if is_laplace else 164**0.5
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=2)
    metric = dp.l1_distance(T=float) if is_laplace else dp.l2_distance(T=float)
    make = dp.m.make_laplace if is_laplace else dp.m.make_gaussian
    k = None if granularity is None else round(np.log2(granularity))
    stated = make(domain, metric, scale=scale, k=k).map(sensitivity)
    spent = getattr(released, budget)
    assert stated <= spent and spent == pytest.approx(stated, rel=1e-5)
    assert spent == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_guarantee_of_counts_is_that_of_opendp(dp, kind):
    is_laplace = kind == "laplace"
    budget = "epsilon" if is_laplace else "rho"
    spec = f"""
[release]
statistic = "sum"
query = {{ kind = "categories", labels = ["no", "yes"] }}
mechanism = {{ kind = "discrete-{kind}", {budget} = 2.0 }}
[data]
columns = ["answer"]
"""
    released = soma.release(spec, {"answer": ["no", "yes", "yes"]})
    domain = dp.vector_domain(dp.atom_domain(T=int))
    metric = dp.l1_distance(T=float) if is_laplace else dp.l2_distance(T=float)
    make = dp.m.make_laplace if is_laplace else dp.m.make_gaussian
    stated = make(domain, metric, scale=released.release.mechanism.scale)
    # Replacing a record moves two counts by one.
    stated = stated.map(2.0 if is_laplace else 2**0.5)
    assert getattr(released, budget) == pytest.approx(stated, rel=1e-12)
    assert stated == pytest.approx(2.0, rel=1e-6)


def test_columns_of_one_name_and_of_unequal_lengths(dp, frame):
    twice = pd.concat([frame[["age"]], frame], axis=1)
    with pytest.raises(ValueError, match='several columns "age"'):
        soma.release(SPEC, twice)
    # A name that is there twice and is not read does no harm.
    notes = pd.DataFrame([["a", "b"]] * 50, columns=["note", "note"])
    released = soma.release(SPEC, pd.concat([notes, frame], axis=1))
    assert released.release.n == 50
    uneven = {"age": frame["age"], "score": frame["score"][:49]}
    with pytest.raises(ValueError, match="different lengths.*50 values.*49 values"):
        soma.release(SPEC, uneven)


def test_dates_are_no_numbers_and_not_missing(dp, frame):
    day = pd.Timestamp("2026-01-02")
    with pytest.raises(ValueError, match='"age": a value is none of these'):
        soma.release(SPEC, frame.assign(age=day))
    gone = frame.assign(age=frame["age"].astype("Float64").where(frame.index > 0))
    for column in [gone["age"], pd.Series([pd.NaT] * 50)]:
        with pytest.raises(ValueError, match="values are missing"):
            soma.release(SPEC, frame.assign(age=column))


def test_the_file_and_the_ledger(dp, frame, tmp_path):
    out, ledger = tmp_path / "published.toml", tmp_path / "ledger.jsonl"
    soma.release(SPEC, frame, out=out, ledger=ledger)
    text = out.read_text()
    for value in frame.to_numpy().ravel():
        assert repr(value) not in text
    assert "age" not in text and "score" not in text
    with pytest.raises(FileExistsError, match="again=True"):
        soma.release(SPEC, frame, out=out, ledger=ledger)
    with pytest.raises(ValueError, match="released once before.*epsilon 2.*again=True"):
        soma.release(SPEC, frame, out=tmp_path / "other.toml", ledger=ledger)
    (tmp_path / "letter.txt").write_text("Dear all")
    for name, said in [("letter.txt", "no release written by soma"), ("ledger.jsonl", "made from")]:
        with pytest.raises(FileExistsError, match=said):
            soma.release(SPEC, frame, out=tmp_path / name, ledger=ledger, again=True)
    with pytest.warns(UserWarning, match="released once before.*epsilon 4"):
        soma.release(SPEC, frame, out=out, ledger=ledger, again=True)
    spent = [json.loads(line)["epsilon"] for line in ledger.read_text().splitlines()]
    assert spent == pytest.approx([2.0, 2.0])
    assert soma.read_spec(out).release.n == 50


def test_a_budget_holds_for_all_releases(dp, frame, tmp_path):
    spec = SPEC + "budget = 3.0\n"
    ledger = tmp_path / "ledger.jsonl"
    soma.release(spec, frame, ledger=ledger)
    with pytest.raises(ValueError, match="would spend epsilon 4: epsilon 2 so far, in 1 release"):
        soma.release(spec, frame, ledger=ledger, again=True)
    with pytest.raises(ValueError, match="would spend epsilon 2"):
        soma.release(SPEC + "budget = 1.0\n", frame)


def test_what_is_published_is_counted(dp, frame, tmp_path):
    both = tmp_path / "both.jsonl"
    for again in [False, True]:
        with pytest.raises(FileExistsError, match="is a file that the release is made from"):
            soma.release(SPEC, frame, out=both, ledger=both, again=again)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="folder"):
        soma.release(SPEC, frame, out=tmp_path / "p.toml", ledger=tmp_path / "folder")
    assert {path.name for path in tmp_path.iterdir()} == {"folder"}
    # Three records of a person, and a ledger in which a release for one record counts three times.
    ledger = tmp_path / "ledger.jsonl"
    soma.release(SPEC, frame, ledger=ledger)
    spec = SPEC + "contributions = 3\n"
    with pytest.warns(UserWarning, match="epsilon 8 for a person with up to 3 records"):
        soma.release(spec, frame, ledger=ledger, again=True)
    assert [json.loads(line).get("contributions", 1) for line in ledger.open()] == [1, 3]
    with ledger.open("a") as file:
        file.write(ledger.read_text().splitlines()[0].replace('"epsilon":', '"epsilon":-'))
    with pytest.raises(ValueError, match="line 3: is no entry.*epsilon is no budget"):
        soma.release(spec, frame, ledger=ledger, again=True)


def test_noise_that_hides_nothing_is_refused(dp, frame, tmp_path):
    spec = SPEC.replace("epsilon = 2.0", "scale = 1e-308")
    with pytest.raises(ValueError, match="hides nothing .given: epsilon inf"):
        soma.release(spec, frame, out=tmp_path / "p.toml", ledger=tmp_path / "l.jsonl")
    with pytest.raises(ValueError, match="hides nothing"):
        soma.release(spec, frame)
    assert not list(tmp_path.iterdir())


def test_without_a_ledger_nothing_is_counted_which_is_said_once(dp, frame):
    soma.curator._warned.clear()
    with pytest.warns(UserWarning, match="without ledger= counts nothing"):
        soma.release(SPEC, frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        soma.release(SPEC, frame)


TEXT = """
[release]
statistic = "sum"
statistics = ["clamp(hours, 0, 80)", "region == 1", "member"]
mechanism = { kind = "laplace", epsilon = 500.0 }
[model]
parameters = "m ~ normal(40, 10)"
record = \"\"\"
hours ~ normal(m, 10)
region ~ categorical([1, 1, 1])
member ~ bernoulli(0.5)
\"\"\"
"""


def test_every_column_of_a_text_is_needed_and_checked(dp):
    data = {"hours": [38.5, 41.0], "region": [1, 3], "member": [True, False]}
    released = soma.release(TEXT, data)
    assert released.record == {name: name for name in data}
    assert np.allclose(released.release.values, [79.5, 1, 1], atol=8)
    for name in data:
        rest = {key: column for key, column in data.items() if key != name}
        with pytest.raises(ValueError, match=f'the data have no column "{name}"'):
            soma.release(TEXT, rest)
    with pytest.raises(ValueError, match='no column "hours" and no column "member"'):
        soma.release(TEXT, {"region": [1, 3]})
    with pytest.raises(ValueError, match='"region": a value is none of these. Allowed: 1, 2, 3'):
        soma.release(TEXT, {**data, "region": [0, 1]})
    swapped = TEXT + '[data]\ncolumns = ["region", "hours", "member"]\n'
    with pytest.raises(ValueError, match='column "region" stands for the variable "hours"'):
        soma.release(swapped, data)


def test_counts_are_whole(dp):
    spec = """
[release]
statistic = "sum"
query = { kind = "categories", labels = ["no", "yes"] }
mechanism = { kind = "discrete-gaussian", rho = 2.0 }
[data]
columns = ["answer"]
"""
    released = soma.release(spec, {"answer": ["no", "yes", "yes"] * 20})
    assert all(value == round(value) for value in released.release.values)
    assert released.rho == pytest.approx(2.0) and released.epsilon == 0.0
