"""What the book and the examples show, works."""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SOMA_ROOT", Path(__file__).parents[3]))


sys.path.insert(0, str(ROOT / "scripts"))
import book  # noqa: E402
import notebooks  # noqa: E402


@pytest.mark.parametrize("page", book.pages())
@pytest.mark.filterwarnings("error")
def test_page(page):
    """Every block runs without a warning, and prints what the page says that it prints."""
    pytest.importorskip("pyarrow")
    book.check(page)


def test_a_stale_page_is_found(tmp_path, monkeypatch):
    """A wrong output, code that fails, a language that is not run, and a skipped block without a reason."""
    monkeypatch.setattr(book, "ROOT", tmp_path)
    monkeypatch.setenv("SOMA_PROGRAM", os.environ.get("SOMA_PROGRAM", str(ROOT / "target/release/soma")))
    (tmp_path / "examples").mkdir()
    page = tmp_path / "page.md"
    output = "```python\nprint(1 + 1)\n```\n\n<!-- output -->\n```text\n{}\n```\n"
    console = "```console\n$ echo took 1.5 s; \\\n  echo {}\ntook 2.5 s\n7\n```\n"
    lines = "<!-- before: soma examples count-and-sum > s.toml -->\n<!-- lines for: s.toml -->\n```toml\n{}\n```\n"
    part = '<!-- before: soma examples proportion > s.toml -->\n<!-- adds to: s.toml -->\n```toml\n[derived]\nodds = "{}"\n```\n'
    absent = "<!-- needs: no-such-program -->\n```sh\nno-such-program\n```\n"
    good = [output.format(2), console.format(7), "```text\nanything\n```\n", "<!-- exit 1 -->\n```sh\nfalse\n```\n"]
    good += [absent, lines.format('n = { prior = "poisson", mean = 9 }\nn = "unknown"'), part.format("p / (1 - p)")]
    for block in good:
        page.write_text(block)
        book.check("page.md")
    for stale in [
        output.format(3),
        console.format(8),
        "```python\n1 / 0\n```\n",
        "```sh\nfalse\n```\n",
        "```toml\n[release]\nn = -1\n```\n",
        "```rust\nfn main() {}\n```\n",
        "<!-- not run: -->\n```rust\nfn main() {}\n```\n",
        lines.format('n = "unknown"\nn = { prior = "poison", mean = 9 }'),
        lines.format("m = 3"),
        part.format("q"),
        "<!-- needs: bash -->\n```sh\nno-such-program\n```\n",
    ]:
        page.write_text(stale)
        with pytest.raises(book.Stale):
            book.check("page.md")
    page.write_text(console.format(8))
    text, now = book.renewed("page.md")
    page.write_text(now)
    assert now != text
    book.check("page.md")


@pytest.mark.parametrize("name", ["own_model", "dask_cluster", "opendp_mean"])
def test_example(name, capsys):
    if name == "opendp_mean":
        pytest.importorskip("opendp")
    posterior = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"]()
    assert posterior.summary()["rhat"].max() < 1.05
    if name == "opendp_mean":
        shown = re.search(r"secret ages was ([\d.]+)", capsys.readouterr().out)
        summary = posterior.summary().loc["mu"]
        assert abs(summary["mean"] - float(shown[1])) < 5 * summary["sd"]


def test_many_fits_on_a_cluster():
    """The example of the book, with a real cluster of two processes."""
    many = runpy.run_path(str(ROOT / "examples" / "dask_many.py"))["main"](4)
    # Shares and counts of 24 cells.
    assert len(many.results) == 4 * 48 and not many.errors
    assert many.results["rhat"].max() < 1.05


@pytest.mark.parametrize("notebook", notebooks.names())
def test_notebook(notebook):
    """Its cells run, and print what is stored in it."""
    pytest.importorskip("nbclient")
    notebooks.check(notebook)
