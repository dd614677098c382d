"""Runs the notebooks of examples/, and compares what their cells print with what is stored.

Pictures are drawn and stored, but not compared: they depend on the version of Matplotlib.
"""

import os
import tempfile
from pathlib import Path

from book import ROOT, VARYING, Stale


def names():
    """The notebooks, as paths relative to the root."""
    return [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").glob("*.ipynb"))]


def executed(path):
    """A notebook with the outputs of its cells, run in an empty folder."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        try:
            client.execute(env=environment)
        except nbclient.exceptions.CellExecutionError as problem:
            raise Stale(f"{path.name}: a cell raised an exception\n{problem}") from None
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise Stale(f"{path.name}: a cell writes to standard error: {output['text']}")
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    return notebook


def printed(notebook):
    """For each cell, what it prints or shows, without what varies and without pictures."""
    found = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                found.append((number, "a picture"))
            else:
                text = output.get("text") or data.get("text/plain", "")
                found.append((number, VARYING.sub("_", text)))
    return found


def check(name):
    """Raises `Stale` where a cell prints something else than what is stored."""
    import nbformat

    stored, now = printed(nbformat.read(ROOT / name, as_version=4)), printed(executed(ROOT / name))
    if stored != now:
        before, after = next(((a, b) for a, b in zip(stored, now) if a != b), (len(stored), len(now)))
        raise Stale(f"{name}: stored\n{before}\nbut now\n{after}\nIf that is right: scripts/renew-book.sh {name}")


def renew(name):
    """Runs a notebook and stores its outputs, where they differ from the stored ones."""
    import nbformat

    stored, now = nbformat.read(ROOT / name, as_version=4), executed(ROOT / name)
    if printed(stored) == printed(now):
        return False
    nbformat.write(now, ROOT / name)
    return True
