"""Runs every code block of the README and of the book, and compares what it prints with the page.

    python scripts/book.py check PAGES...     exits with 1 where a page is stale
    python scripts/book.py renew PAGES...     rewrites the outputs in place

A page is run from its first block to its last one, in an empty folder of its own that has the folders `examples`,
`benches` and `scripts` of the repository. How a block is run follows from its language:

    console   lines after "$ " are commands; the other lines are what they print
    sh        commands, run as one script; what they print is not compared
    toml      a spec: written to the file of its title="...", and read by `soma check`
    python    run in the page's own namespace
    text      not code; after <!-- output -->, what the block before it prints

Comments before a block say what else to do:

    <!-- not run: REASON -->        the block cannot be run here
    <!-- output -->                 see text
    <!-- exit 2 -->                 the last command ends with this code
    <!-- before: COMMAND -->        a command that the reader need not see
    <!-- before python: CODE -->    the same in Python
    <!-- with: OLD => NEW -->       run with NEW in the place of OLD
    <!-- adds to: FILE -->          a part of a spec; read with the text of FILE before it
    <!-- lines for: FILE -->        lines of a spec, each read in the place of the line of FILE with its key
    <!-- needs: NAME -->            not run where there is no such program or Python package

Times and sizes of memory are not compared. SOMA_PROGRAM names the program `soma`.
"""

import argparse
import contextlib
import dataclasses
import difflib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(os.environ.get("SOMA_ROOT", Path(__file__).resolve().parents[1]))
LANGUAGES = {"console", "sh", "toml", "python", "text"}
BLOCK = re.compile(
    r"(?P<marks>(?:^<!--(?:(?!-->).)*-->\n+)*)"
    r"^```(?P<language>[a-z]*)(?P<info>[^\n`]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
MARK = re.compile(
    r"<!--\s*(?P<name>not run|output|exit|before python|before|with|adds to|lines for|needs)(?::|\s)\s*(?P<value>.*?)\s*-->", re.DOTALL
)
# What differs from machine to machine.
VARYING = re.compile(r"\b[\d,.]+ (?:s|ms|minutes|KiB|MiB|GiB|kB|MB|GB)\b|\bon \d+ threads?\b")

# What a slow run prints while it goes on.
PROGRESS = re.compile(r"\d+ of \d+ \w+ after \d+ (?:s|min)")


class Stale(Exception):
    """A block that does not run, or is not written as the rules ask."""


@dataclasses.dataclass
class Block:
    """A code block of a page, and where its text stands in the page."""

    place: str
    language: str
    title: str | None
    text: str
    start: int
    marks: list[tuple[str, str]]

    def values(self, name):
        return [value for mark, value in self.marks if mark == name]

    def to_run(self):
        """The text with the replacements that the marks ask for."""
        text = self.text
        for value in self.values("with"):
            old, new = (side.strip() for side in value.split("=>"))
            if old not in text:
                raise Stale(f"{self.place}: <!-- with: {value} -->: the block has no {old!r}")
            text = text.replace(old, new)
        return text


def pages():
    """The README and every page of the book, as paths relative to the root."""
    book = sorted((ROOT / "docs").rglob("*.md"))
    return ["README.md", *(str(page.relative_to(ROOT)) for page in book)]


def blocks(page, text):
    """The code blocks of a page, checked for their language."""
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        title = re.search(r'title="([^"]+)"', match["info"])
        marks = [(mark["name"], mark["value"]) for mark in MARK.finditer(match["marks"])]
        block = Block(
            f"{page}:{line}", match["language"], title and title[1], match["text"], match.start("text"), marks
        )
        skipped = block.values("not run")
        if skipped and len(skipped[0]) < 8:
            raise Stale(f"{block.place}: say why the block is not run")
        if block.language not in LANGUAGES and not skipped:
            allowed = ", ".join(sorted(LANGUAGES))
            raise Stale(
                f"{block.place}: the language {block.language!r} cannot be run; use one of {allowed}, "
                "or write <!-- not run: REASON --> before the block"
            )
        found.append(block)
    return found


class Reader:
    """Does what a page says, block after block, in a folder of its own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.names = {"__name__": "__main__"}
        self.printed = ""
        program = Path(os.environ.get("SOMA_PROGRAM", ROOT / "target" / "release" / "soma"))
        if not program.exists():
            raise SystemExit(f"{program}: no such program; build it, or set SOMA_PROGRAM")
        tools = self.folder / ".tools"
        tools.mkdir()
        (tools / "soma").symlink_to(program)
        if (bench := program.with_name("soma-bench")).exists():
            (tools / "soma-bench").symlink_to(bench)
        for name in ["examples", "benches", "scripts"]:
            (self.folder / name).symlink_to(ROOT / name)
        path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "MPLBACKEND": "Agg"}

    def has(self, name):
        """Whether there is such a program or Python package."""
        return shutil.which(name, path=self.environment["PATH"]) or importlib.util.find_spec(name)

    def shell(self, place, command, code=0):
        """What a command prints; an exit code other than `code` is an error."""
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != code:
            raise Stale(f"{place}: exit code {done.returncode}, not {code}:\n{command}\n{done.stdout}")
        return done.stdout

    def python(self, place, code):
        """What Python code prints, run in this process and in the page's namespace."""
        printed = io.StringIO()
        before, environment = os.getcwd(), dict(os.environ)
        os.environ.update(self.environment)
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, place, "exec"), self.names)
        except Exception:
            raise Stale(f"{place}: the code raised an exception\n{traceback.format_exc()}") from None
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
        return printed.getvalue()

    def run(self, block):
        """Runs a block; the text that it should have is the result."""
        if block.values("not run") or not all(map(self.has, block.values("needs"))):
            return block.text
        for command in block.values("before"):
            self.shell(block.place, command)
        for code in block.values("before python"):
            self.python(block.place, code)
        if block.language == "console":
            return self.console(block)
        if block.language == "sh":
            self.shell(block.place, block.to_run(), int((block.values("exit") or [0])[0]))
        elif block.language == "toml":
            self.spec(block)
        elif block.language == "python":
            self.printed = self.python(block.place, block.to_run())
        elif any(name == "output" for name, _ in block.marks):
            return tidy(self.printed)
        return block.text

    def console(self, block):
        """Commands, each after "$ " and on as many lines as end with a backslash, and what they print."""
        runs, shows = commands(block.to_run()), commands(block.text)
        if not shows or not block.text.startswith("$ "):
            raise Stale(f"{block.place}: a console block begins with a command: $ ...")
        last, text = int((block.values("exit") or [0])[0]), ""
        for number, (run, shown) in enumerate(zip(runs, shows)):
            self.printed = tidy(self.shell(block.place, run, last if number + 1 == len(runs) else 0))
            text += f"$ {shown}\n{self.printed}"
        return text

    def spec(self, block):
        """Writes a spec to its file, and reads it as the program does."""
        name = block.title or f".block-{block.start}.toml"
        for text in self.whole(block):
            (self.folder / name).write_text(text, encoding="utf-8")
            self.shell(block.place, f"soma check {name}")

    def whole(self, block):
        """The specs that a block stands for: one, or one for each line."""
        text = block.to_run()
        for file in block.values("adds to"):
            text = (self.folder / file).read_text(encoding="utf-8") + text
        for file in block.values("lines for"):
            spec = (self.folder / file).read_text(encoding="utf-8")
            for line in text.splitlines():
                changed, found = re.subn(rf"^{line.split()[0]} = .*", lambda _: line, spec, flags=re.MULTILINE)
                if not found:
                    raise Stale(f"{block.place}: {file} has no line for {line!r}")
                yield changed
            return
        yield text


def commands(text):
    """The commands of a console block, without what they print."""
    found, goes_on = [], False
    for line in text.splitlines():
        if goes_on:
            found[-1] += "\n" + line
        elif line.startswith("$ "):
            found.append(line[2:])
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return found


def tidy(printed):
    """Without spaces at the ends of lines and lines of progress, and ending with one line break."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines() if not PROGRESS.match(line)]
    return "\n".join(lines) + "\n" if lines else ""


def renewed(page):
    """A page with the outputs that its blocks print now. What only varies is left as it is."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    result, end = "", 0
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder)
        for block in blocks(page, text):
            now = reader.run(block)
            same = VARYING.sub("_", now) == VARYING.sub("_", block.text)
            result += text[end : block.start] + (block.text if same else now)
            end = block.start + len(block.text)
    return text, result + text[end:]


def check(page):
    """Raises `Stale` where a block does not run or prints something else."""
    text, now = renewed(page)
    if now != text:
        lines = difflib.unified_diff(text.splitlines(), now.splitlines(), page, "what it prints now", lineterm="", n=1)
        raise Stale("\n".join(lines) + f"\nIf that is right: scripts/renew-book.sh {page}")


def renew(page):
    """Rewrites a page; whether anything changed."""
    text, now = renewed(page)
    if now != text:
        (ROOT / page).write_text(now, encoding="utf-8")
    return now != text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "renew"])
    parser.add_argument("pages", nargs="*", help="all pages if none is named")
    options = parser.parse_args()
    import notebooks

    failed = False
    for page in options.pages or [*pages(), *notebooks.names()]:
        page = str(Path(page).resolve().relative_to(ROOT.resolve()))
        check_it, renew_it = (notebooks.check, notebooks.renew) if page.endswith(".ipynb") else (check, renew)
        try:
            if options.what == "check":
                check_it(page)
                said = "as it is run"
            else:
                said = "renewed" if renew_it(page) else "no change"
            print(f"{page}: {said}", flush=True)
        except Stale as problem:
            failed = True
            print(problem, file=sys.stderr, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    import book  # so that the notebooks raise the same `Stale`

    book.main()
