"""Hooks of MkDocs (mkdocs.yml): pages of the site that are not files of docs/.

- Notebooks of examples/ become the pages notebooks/NAME.md, with their stored outputs. A cell that draws says in its
  metadata what is to be seen: "alt". A notebook that is not listed under nav is an error.
- CONTRIBUTING.md and CHANGELOG.md become pages.
- Marks for the test of the book are left out.
- A link of a page to another file of the repository, such as ../examples/atus-female.toml, leads
  to a copy of that file; a link to a file that does not exist is an error, as any other.
"""

import html
import json
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
OF_THE_ROOT = ["CONTRIBUTING.md", "CHANGELOG.md"]
# Marks for the test of the book (scripts/book.py), which no reader needs.
MARK = re.compile(r"^<!--\s*(?:not run|output|exit|before|with|adds to|lines for|needs)\b(?:(?!-->).)*-->\n+", re.DOTALL | re.MULTILINE)
OUTSIDE = re.compile(r"\]\(\.\./(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files, config):
    """Adds the pages and files from outside of docs/."""
    for name in OF_THE_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for notebook in sorted((ROOT / "examples").glob("*.ipynb")):
        if f"notebooks/{notebook.stem}.md" not in str(config.nav):
            raise PluginError(f"mkdocs.yml: nav has no line for notebooks/{notebook.stem}.md")
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=as_markdown(notebook)))
    linked = set()
    for page in (ROOT / "docs").rglob("*.md"):
        linked |= {match["path"] for match in OUTSIDE.finditer(page.read_text(encoding="utf-8"))}
    for path in sorted(linked):
        if path not in OF_THE_ROOT and not path.endswith(".ipynb") and (ROOT / path).is_file():
            files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads links to where the files are on the site, and leaves out marks for the test of the book."""
    markdown = MARK.sub("", markdown)
    if page.file.src_uri in OF_THE_ROOT:
        return re.sub(r"\]\(docs/", "](", markdown)
    if page.file.src_uri.startswith("notebooks/"):
        return re.sub(r"\]\(\.\./docs/", "](../", markdown)
    return OUTSIDE.sub(place_on_site, markdown)


def place_on_site(match):
    path, anchor = match["path"], match["anchor"] or ""
    if path in OF_THE_ROOT:
        return f"]({path}{anchor})"
    if path.endswith(".ipynb"):
        return f"](notebooks/{Path(path).stem}.md{anchor})"
    return f"](files/{path})"


def as_markdown(notebook):
    """A notebook with its stored outputs as a page."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{source}\n```")
            parts.extend(filter(None, (shown(output, cell, notebook.name) for output in cell["outputs"])))
    return "\n\n".join(parts) + "\n"


def shown(output, cell, name):
    """The best form of an output that a page can hold."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        if "alt" not in cell["metadata"]:
            raise PluginError(f'{name}: a cell draws, and its metadata has no "alt": {"".join(cell["source"])[:60]}')
        said = html.escape(cell["metadata"]["alt"])
        return f'<img alt="{said}" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        # Without its class the theme scrolls it where the screen is narrow, as any table.
        table = table.replace('<table border="1" class="dataframe">', "<table>")
        return re.sub(r"\n\s*", "", table)
    if "text/plain" in data:
        return f"```text\n{''.join(data['text/plain'])}\n```"
    return None
