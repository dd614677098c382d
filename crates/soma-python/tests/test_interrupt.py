"""Ctrl-C returns the draws so far."""

import subprocess
import sys
import textwrap
import time

import pytest

PREAMBLE = """
import _thread, threading, time
import soma
release = soma.Release(
    query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=100,
    mechanism=soma.Laplace(epsilon=1.0), values=[0.4])
model = soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
"""


def run(code):
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_returns_the_draws_so_far():
    done = run("""
        def interrupt(progress):
            if progress.done > 2000:
                _thread.interrupt_main()
        posterior = soma.fit(
            release, model, chains=2, warmup=100, draws=1_000_000, progress=interrupt)
        chains, draws, _ = posterior.draws.shape
        assert posterior.interrupted and 0 < draws < 1_000_000
        assert "stopped before its end" in repr(posterior)
        same = soma.fit(release, model, chains=2, warmup=100, draws=draws)
        assert (posterior.draws == same.draws[:chains]).all()
        print("done")
    """)
    assert done.stdout == "done\n", done.stderr


def test_without_a_draw_there_is_nothing_to_return():
    done = run("""
        def interrupt(progress):
            _thread.interrupt_main()
        try:
            soma.fit(release, model, warmup=100_000_000, progress=interrupt)
        except KeyboardInterrupt as error:
            print(error)
    """)
    assert done.stdout == "there was no draw yet\n", done.stderr


def test_a_failing_callback_stops_the_run():
    done = run("""
        def fail(progress):
            raise LookupError("callback")
        start = time.monotonic()
        try:
            soma.fit(release, model, draws=100_000_000, progress=fail)
        except LookupError as error:
            print(error)
    """)
    assert done.stdout == "callback\n", done.stderr
