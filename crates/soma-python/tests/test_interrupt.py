"""Ctrl-C returns the draws so far."""

import os
import signal
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
        # A chain that had no draw yet is left out, and either may be the first to have one.
        wanted = [same.draws] if chains == 2 else [same.draws[:1], same.draws[1:]]
        assert any((posterior.draws == one).all() for one in wanted)
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


def test_a_calibration_says_how_much_of_it_was_done():
    done = run("""
        def interrupt(progress):
            if progress.done > 5:
                _thread.interrupt_main()
        found = soma.calibrate(release, model, replications=100_000, progress=interrupt)
        assert found.interrupted and 5 < len(found.ranks) < 100_000
        assert f"{len(found.ranks)} replications of 100000, stopped before its end" in repr(found)
        print("done")
    """)
    assert done.stdout == "done\n", done.stderr


def test_a_failing_callback_stops_the_run():
    done = run("""
        def fail(progress):
            raise LookupError("callback")
        start = time.monotonic()
        try:
            soma.fit(release, model, draws=1000, thin=100_000, progress=fail)
        except LookupError as error:
            print(error)
    """)
    assert done.stdout == "callback\n", done.stderr


POOL = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import soma

class Own(soma.Model):
    '''Its updates are lists, and leave a mark once a chain has drawn something.'''
    parameters = ["mu"]

    def __init__(self, folder):
        self.folder = folder

    def initial(self, rng):
        return [0.0]

    def propose(self, theta, size, rng):
        return rng.normal(theta[0], 1.0, size=(size, 1)).tolist()

    def update(self, theta, records, rng):
        open(f"{self.folder}/{os.getpid()}", "a").write("x")
        return [rng.normal(records.mean(), 1 / np.sqrt(len(records)))]

if __name__ == "__main__":
    release = soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=50,
        mechanism=soma.Laplace(epsilon=1.0), values=[0.4])
    context = multiprocessing.get_context(sys.argv[2])
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        posterior = soma.fit(
            release, Own(sys.argv[1]), chains=int(sys.argv[3]), warmup=0, draws=10_000_000,
            executor=pool, progress=False)
    print(posterior.draws.shape[1] > 20, posterior.interrupted)
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("whom", ["group", "parent"])
@pytest.mark.parametrize("chains", [2, 5], ids=["idle worker", "queued chains"])
def test_a_process_pool_hands_in_its_draws(tmp_path, context, whom, chains):
    """A terminal tells all processes of Ctrl-C, a notebook the parent alone."""
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    script.write_text(POOL)
    marks.mkdir()
    run = subprocess.Popen(
        [sys.executable, str(script), str(marks), context, str(chains)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    running = min(chains, 3)
    while run.poll() is None and sum(mark.stat().st_size > 50 for mark in marks.iterdir()) < running:
        time.sleep(0.05)
    (os.killpg if whom == "group" else os.kill)(run.pid, signal.SIGINT)
    out, errors = run.communicate(timeout=120)
    assert out == "True True\n", errors
    assert "Error" not in errors


FIRST_INSTRUCTION = """
import multiprocessing, os, signal, sys, threading
from concurrent.futures import ProcessPoolExecutor
import soma

def is_deaf(pid):
    '''Whether the system would not tell a process of Ctrl-C, or let it die of that.'''
    lines = open(f"/proc/{pid}/status").read().splitlines()
    masks = dict(line.split(":", 1) for line in lines)
    bit = 1 << (signal.SIGINT - 1)
    return any(int(masks[name], 16) & bit for name in ("SigBlk", "SigIgn"))

class Pool(ProcessPoolExecutor):
    '''Looks at its workers as soon as they are there: they have not begun to import.'''
    seen = []
    def submit(self, *args, **options):
        future = super().submit(*args, **options)
        self.seen += [is_deaf(pid) for pid in self._processes]
        if sys.argv[2] == "ctrl-c":
            os.kill(os.getpid(), signal.SIGINT)
        return future

def fit(out):
    release = soma.Release(
        query=soma.Mean(clamp=(-5.0, 5.0)), statistic="mean", n=50,
        mechanism=soma.Laplace(epsilon=1.0), values=[0.4])
    model = soma.Normal(
        prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    try:
        with Pool(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
            posterior = soma.fit(
                release, model, chains=2, warmup=20, draws=20, executor=pool, progress=False)
        out.append("done")
    except KeyboardInterrupt as error:
        out.append(str(error))

if __name__ == "__main__":
    out = []
    if sys.argv[2] == "thread":
        thread = threading.Thread(target=fit, args=(out,))
        thread.start()
        thread.join()
    else:
        fit(out)
    print(out, len(Pool.seen) > 0 and all(Pool.seen), is_deaf(os.getpid()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("how", ["main", "thread", "ctrl-c"])
def test_workers_are_deaf_from_their_first_instruction(tmp_path, context, how):
    """Wherever `fit` was called; and a Ctrl-C while they are started is heard by the parent."""
    script = tmp_path / "script.py"
    script.write_text(FIRST_INSTRUCTION)
    done = subprocess.run(
        [sys.executable, str(script), context, how], capture_output=True, text=True, timeout=120
    )
    said = "there was no draw yet" if how == "ctrl-c" else "done"
    assert done.stdout == f"{[said]} True False\n", done.stderr
