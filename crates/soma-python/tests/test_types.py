"""The types that are declared are the ones that are there."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd
    )


def test_stubs_describe_the_compiled_module(tmp_path):
    done = run("mypy.stubtest", "soma._soma", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_is_typed(tmp_path):
    done = run("mypy", "--strict", "--ignore-missing-imports", "-p", "soma", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
