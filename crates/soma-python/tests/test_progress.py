"""Progress in terminals, and for a callback."""

import os
import pty
import subprocess
import sys

import soma


def test_callback(release, model):
    seen = []
    soma.fit(release, model, chains=2, warmup=100, draws=20_000, progress=seen.append)
    assert all(isinstance(progress, soma.Progress) for progress in seen)
    done = [progress.done for progress in seen]
    assert done == sorted(done) and done[-1] == 2 * 20_100
    assert {(progress.total, progress.unit) for progress in seen} == {(40_200, "iterations")}


def test_text():
    text = str(soma.Progress(done=250, total=1000, unit="iterations", seconds=65.0))
    assert " 25%  250 of 1,000 iterations  1:05, 3:15 left" in text


def test_silent_where_nobody_looks(release, model, capfd):
    soma.fit(release, model, chains=1, warmup=10, draws=10)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_one_line_in_a_terminal():
    code = (
        "import soma; release = soma.Release(query=soma.Mean(clamp=(0, 1)), statistic='mean',"
        "n=10, mechanism=soma.Laplace(epsilon=1.0), values=[0.4]);"
        "model = soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0));"
        "soma.fit(release, model, chains=1, warmup=10, draws=10)"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    assert process.wait(timeout=60) == 0
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "100%  20 of 20 iterations" in shown and "\n" not in shown
