"""Reports and figures: as text, and in a real browser."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import browser
import soma

KINDS = ["density", "intervals", "learned", "counts", "predictive", "pairs", "trace", "rank", "ess"]


@pytest.fixture(scope="module")
def counts():
    release = soma.Release(
        query=soma.Categories(labels=["a < b", "c & d", "e"]),
        statistic="sum",
        n=300,
        mechanism=soma.DiscreteLaplace(epsilon=0.2),
        values=[104, 150, 52],
    )
    model = soma.Categorical(prior=soma.DirichletPrior(alpha=1.0))
    derived = {"difference": "p[c & d] - p[e]"}
    return soma.fit(release, model, draws=500, warmup=200, seed=1, derived=derived)


@pytest.fixture
def posterior(release, model):
    return soma.fit(release, model, chains=2, warmup=200, draws=300, seed=1)


def test_report(counts, tmp_path):
    page = counts.report(title="Three answers")
    assert page.startswith("<!DOCTYPE html>") and "<h1>Three answers</h1>" in page
    for section in ["answer", "published", "posterior", "derived", "counts", "learned", "check", "trust"]:
        assert f'<section id="{section}">' in page, section
    assert "p[c &amp; d]" in page and "difference" in page
    assert "<h1>The posterior of p[a &lt; b], p[c &amp; d], p[e] and 4 more</h1>" in counts.report()
    path = counts.report(tmp_path / "report.html", title="Three answers")
    assert path.read_text(encoding="utf-8") == page


def test_comparisons_are_probabilities(tmp_path):
    """A comparison that is true in all draws does not count against them; a stored run knows it too."""
    release = soma.Release(
        query=soma.Categories(labels=["a", "b"]),
        statistic="sum",
        n=300,
        mechanism=soma.DiscreteLaplace(epsilon=0.5),
        values=[240, 60],
    )
    model = soma.Categorical(prior=soma.DirichletPrior(alpha=1.0))
    derived = {"z": "p[a] > 0.8", "more": "count[a] > 2 * count[b]", "share": "count[a] / n"}
    options = {"draws": 500, "warmup": 200, "seed": 1, "derived": derived}
    posterior = soma.fit(release, model, **options)
    assert posterior.parameters[-3:] == ("z", "more", "share")
    found = soma.diagnose(posterior)
    assert found.trusted and "more was 1 in all 2000 draws" in found.reason
    page = posterior.report(only=["more", "p[a]"])
    answer = page[page.index('id="answer"') : page.index('id="published"')]
    assert "probability above 0.99" in answer and "p[a]" in answer and "p[b]" not in answer
    with pytest.raises(ValueError, match="no such quantity"):
        posterior.report(only=["nobody"])
    soma.fit(release, model, out=tmp_path / "run", **options)
    stored = soma.open(tmp_path / "run")
    assert tuple(stored.derived) == ("z", "more", "share")
    assert soma.diagnose(stored).trusted and stored.report(only=["more", "p[a]"]).count("probability above") > 0


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_xml(counts, kind, tmp_path):
    figure = counts.figure(kind)
    root = ElementTree.fromstring(figure.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("role") == "img"
    path = figure.save(tmp_path / "figure.svg")
    assert path.read_text(encoding="utf-8").startswith("<?xml")
    assert figure._repr_svg_().lstrip().startswith("<svg")


def test_errors_say_what_is_allowed(posterior, tmp_path):
    with pytest.raises(ValueError, match="Allowed: density, intervals"):
        posterior.figure("histogram")
    with pytest.raises(ValueError, match="not a table"):
        posterior.figure("counts")
    with pytest.raises(ValueError, match="ends in .svg"):
        posterior.figure("density").save(tmp_path / "figure.png")
    with pytest.raises(ValueError, match="not a table"):
        posterior.plot_counts()


def test_models_of_ones_own_have_a_report(release, own_model):
    posterior = soma.fit(release, own_model, chains=2, warmup=100, draws=100, seed=1)
    page = posterior.report()
    assert '<section id="check">' in page and '<section id="learned">' in page


def test_draws_alone_have_a_report(posterior):
    alone = soma.Posterior.from_arrow(posterior)
    page = alone.report()
    assert '<section id="answer">' in page and '<section id="check">' not in page


def test_stored_runs_have_the_same_report(counts, tmp_path):
    options = {"draws": 500, "warmup": 200, "seed": 1, "derived": counts.derived}
    soma.fit(counts.release, counts.model, out=tmp_path / "run", **options)
    stored = soma.open(tmp_path / "run")
    assert stored.figure("density").svg == counts.figure("density").svg


def test_notebooks_show_a_short_report(counts):
    one, other = counts._repr_html_(), counts._repr_html_()
    assert "<table>" in one and one.count("<svg ") >= 3
    assert one != other  # each has an id of its own


@pytest.mark.parametrize("kind", ["density", "intervals", "trace", "rank", "ess", "pairs"])
@pytest.mark.filterwarnings("ignore")
def test_plots_by_arviz(posterior, kind):
    pytest.importorskip("arviz")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert getattr(posterior, f"plot_{kind}")() is not None
    matplotlib.pyplot.close("all")


def test_plots_by_matplotlib(counts):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = counts.plot_counts()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a < b", "c & d", "e"]
    learned = [bar.get_width() for bar in counts.plot_learned().patches]
    assert 0.5 < np.max(learned) <= 1.0
    assert counts.plot_predictive(draws=50).lines
    matplotlib.pyplot.close("all")


SEEN = """(() => {
  const drawings = [...document.querySelectorAll('figure svg')];
  const bad = drawings.filter(d => {
    const box = d.getBoundingClientRect();
    return box.width < 150 || box.height < 60 || box.left < 0 || box.right > innerWidth
      || !d.querySelector('text') || !d.getAttribute('aria-label')
      || document.getElementById(d.getAttribute('aria-describedby')).textContent.length < 10;
  });
  return [drawings.length, bad.length, document.documentElement.scrollWidth, innerWidth];
})()"""


# Text that leaves its drawing, and text over other text.
COLLIDE = """(() => {
  const found = [];
  document.querySelectorAll('figure svg').forEach(svg => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([said, a], i) => {
      if (a.left < frame.left - 0.5 || a.right > frame.right + 0.5) found.push(said + ' is cut off');
      texts.slice(0, i).forEach(([other, b]) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 3) found.push(said + ' over ' + other);
      });
    });
  });
  return found;
})()"""


@pytest.mark.skipif(not browser.found(), reason="no Chromium here: scripts/install-test-needs.sh")
def test_no_text_is_cut_off(tmp_path):
    """With statistics and derived quantities of long names."""
    model = soma.Model(
        "b0 ~ normal(0, 2)\nb1 ~ normal(0, 2)",
        "age ~ normal(48, 17)\nsmoker ~ bernoulli(logistic(b0 + b1 * (age - 50) / 15))",
    )
    statistics = ["smoker", "clamp(age, 18, 90) * smoker", "clamp(age, 18, 90) * clamp(age, 18, 90) * smoker"]
    parts = [
        soma.Part(
            name=f"the smokers of the survey, part {k}",
            query=soma.Statistics([statistic]),
            statistic="sum",
            values=[12.0 * 45.0**k],
            mechanism=soma.Laplace(epsilon=1.0),
        )
        for k, statistic in enumerate(statistics)
    ]
    release = soma.Release(n=50, parts=parts)
    derived = {"probability of smoking at 30": "logistic(b0 - b1 * 20 / 15)", "women among 65+": "exp(b0)"}
    posterior = soma.fit(release, model, chains=2, warmup=50, draws=100, seed=1, derived=derived)
    assert "The posterior of b0, b1, probability of smoking at 30, women among 65+" in posterior.report()
    path = posterior.report(tmp_path / "report.html")
    with browser.Browser() as page:
        for width in [1400, 400]:
            page.open(path.as_uri(), width=width)
            assert page.run(COLLIDE) == [], width
        assert page.errors() == []


@pytest.mark.skipif(not browser.found(), reason="no Chromium here: scripts/install-test-needs.sh")
def test_page_in_a_browser(counts, tmp_path):
    """Figures are there at both widths, pointing shows values, and the console has no error."""
    path = counts.report(tmp_path / "report.html")
    with browser.Browser() as page:
        for width, dark in [(1400, False), (400, True)]:
            page.open(path.as_uri(), width=width, dark=dark)
            drawings, bad, wide, screen = page.run(SEEN)
            assert drawings >= 20 and bad == 0 and wide <= screen, (width, drawings, bad, wide)
            background = page.run("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(255, 255, 255)") != dark
            # Along a line: what its value is there. On a mark: what it says.
            for drawing, mark, said in [
                ("#trace-0-d", ".area", "chain 1: "),
                ("#counts-0-d", "circle", "a < b: median "),
                ("#learned-0-d", "rect.mark-fill", "% of the prior variance removed"),
            ]:
                place = page.run(f"""(() => {{
                    const svg = document.querySelector('{drawing}').parentNode;
                    svg.scrollIntoView({{block: 'center'}});
                    const box = svg.querySelector('{mark}').getBoundingClientRect();
                    return [box.x + box.width / 2, box.y + box.height / 2];
                }})()""")
                page.point(*place)
                shown = page.run("(t => t.hidden ? '' : t.textContent)(document.querySelector('.soma-tip'))")
                assert said in shown, (drawing, shown)
        assert page.errors() == []
