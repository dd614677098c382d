"""What the book and the examples show, works."""

import os
import re
import runpy
import textwrap
from pathlib import Path

import numpy as np
import pytest

import soma

ROOT = Path(os.environ.get("SOMA_ROOT", Path(__file__).parents[3]))


def blocks(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("error")
def test_python_page(capsys, tmp_path, monkeypatch):
    """Nothing warns, and the page prints about what it says that it prints."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pyarrow")
    names, waiting = {}, None
    for block in blocks("python.md"):
        block = block.replace("draws=2000", "warmup=20, draws=20")
        exec(compile(block, "docs/python.md", "exec"), names)
        waiting = waiting or (names["posterior"] if "class Waiting" in block else None)
    assert soma.diagnose(waiting).trusted
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    pattern = r"\b([\d.]+) without transport, ([\d.]+) with it"
    printed, said = re.search(pattern, capsys.readouterr().out), re.search(pattern, text)
    assert float(printed[2]) > 10 * float(printed[1])
    assert 0.5 < float(printed[2]) / float(said[2]) < 2.0
    carried, drawn = np.quantile(names["carried"], 0.5), np.quantile(names["drawn"], 0.5)
    assert abs(carried - drawn) < 0.02
    assert np.array_equal(names["same"].draws, names["posterior"].draws)


def test_importing_page():
    names = {}
    for block in blocks("importing.md"):
        exec(compile(block, "docs/importing.md", "exec"), names)
    assert names["release"].parts[0].values == (12, "suppressed", 31)


def test_distributed_page(release, model, tmp_path, monkeypatch):
    """With a process pool as on the page, and a cluster of this machine for the address."""
    pool, dask, many = blocks("distributed.md")[:3]
    local = "Client(n_workers=2, dashboard_address=None)"
    dask = dask.replace('Client("scheduler-address:8786")', local).replace("chains=64", "chains=4")
    script = tmp_path / "page.py"
    many = "\n".join(line for line in many.splitlines() if "lient" not in line or "fit_many" in line)
    body = textwrap.indent(pool + dask + many + "\nclient.shutdown()\n", "    ")
    spec = (ROOT / "examples" / "private-mean-n2.toml").read_text(encoding="utf-8")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "one.toml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pyarrow")
    script.write_text("import soma\nif __name__ == '__main__':\n" + body)
    names = runpy.run_path(
        str(script), init_globals={"release": release, "model": model}, run_name="__main__"
    )
    assert names["posterior"].draws.shape == (4, 1000, 2)
    assert (tmp_path / "results.parquet").exists()


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


def test_notebook(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "examples" / "atus.ipynb", as_version=4)
    resources = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    images = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(images) == 3
