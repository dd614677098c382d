"""Installs a wheel into fresh environments and runs the README's commands from it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 15 * 1024 * 1024
"""The most bytes of a wheel."""


def pythons() -> list[str]:
    """Every Python from 3.10 on that is on the PATH or known to pyenv, one of each version."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += [str(path) for path in pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    found: dict[tuple[int, int], str] = {}
    asks = "import sys; print(*sys.version_info[:2], sys.executable)"
    for folder in folders:
        for name in ["python3", "python", *(f"python3.{minor}" for minor in range(10, 20))]:
            program = shutil.which(name, path=folder)
            if program is None:
                continue
            asked = subprocess.run([program, "-c", asks], capture_output=True, text=True)
            if asked.returncode != 0:
                continue
            major, minor, executable = asked.stdout.strip().split(" ", 2)
            if (int(major), int(minor)) >= (3, 10):
                found.setdefault((int(major), int(minor)), executable)
    return [found[version] for version in sorted(found)]


def blocks(language: str) -> list[str]:
    """The blocks of the README in this language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands() -> list[str]:
    """The README's commands of the program, without those that take minutes."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("soma ") and "million" not in line]


def environment(scripts: pathlib.Path) -> dict[str, str]:
    """The environment of a user who has no Rust: the installed scripts, and the system's tools."""
    path = os.pathsep.join([str(scripts), "/usr/bin", "/bin"])
    if os.name == "nt":
        path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if "CARGO" not in name and "RUST" not in name}
    if os.name != "nt":
        assert shutil.which("cargo", path=path) is None, "there is a Rust on the PATH"
    return {**kept, "PATH": path}


def interrupted(arguments: list[str], around: dict[str, str], folder: pathlib.Path) -> None:
    """Ctrl-C ends a fit with a table, in the program of the wheel too."""
    fit = [*arguments, "fit", "examples/atus-female.toml", "--draws", "100000000", "--out", "long"]
    child = subprocess.Popen(fit, env=around, cwd=folder, stdout=subprocess.PIPE, text=True)
    # Once draws are on the disk.
    for _ in range(600):
        if list((folder / "long" / "draws").glob("*.parquet")):
            break
        time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0, child.returncode
    assert "alpha1" in output, output
    shutil.rmtree(folder / "long")


def test(python: str, wheel: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        home = folder / "environment"
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        scripts = home / ("Scripts" if os.name == "nt" else "bin")
        pip = [str(scripts / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        around = environment(scripts)
        subprocess.run([*pip, "install", "--only-binary", ":all:", str(wheel)], check=True, env=around)
        shutil.copytree(ROOT / "examples", folder / "examples")
        run = {"env": around, "cwd": folder, "check": True, "stdout": subprocess.PIPE, "text": True}
        said = commands()
        assert said, "the README names no command"
        for line in said:
            output = subprocess.run(line, shell=True, **run).stdout
            assert ">" in line or output.strip(), line
        for number, block in enumerate(blocks("python")):
            script = folder / f"block{number}.py"
            script.write_text(block, encoding="utf-8")
            subprocess.run([str(scripts / "python"), str(script)], **run)
        module = [str(scripts / "python"), "-m", "soma"]
        assert subprocess.run([*module, "--version"], **run).stdout.startswith("soma ")
        wrong = subprocess.run([*module, "fit", "nowhere.toml"], **{**run, "check": False, "stderr": subprocess.PIPE})
        assert wrong.returncode == 2 and "nowhere.toml" in wrong.stderr
        if os.name != "nt":
            interrupted(["soma"], around, folder)
            interrupted(module, around, folder)
        print(f"{python}: {len(said)} commands and {len(blocks('python'))} scripts of the README")


def main() -> None:
    wheel = pathlib.Path(sys.argv[1]).resolve()
    size = wheel.stat().st_size
    assert size <= LIMIT, f"{wheel.name} has {size} bytes, and the limit is {LIMIT}"
    assert "abi3" in wheel.name, wheel.name
    found = pythons()
    assert found, "no Python from 3.10 on was found"
    for python in found:
        test(python, wheel)
    print(f"{wheel.name}: {size / 2**20:.1f} MiB, {len(found)} Pythons")


if __name__ == "__main__":
    main()
