"""The same draws wherever they are computed, and no worker whose death would matter."""

import multiprocessing
import os
import pathlib
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import soma

SHORT = dict(chains=4, warmup=20, draws=30, seed=3, progress=False)


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def model_of_main():
    """A model that no worker can import, as one that was written in a notebook."""

    class Own(soma.Model):
        parameters = ["mu"]

        def initial(self, rng):
            return rng.normal(size=1)

        def propose(self, theta, size, rng):
            return rng.normal(theta[0], 1.0, size=(size, 1))

        def update(self, theta, records, rng):
            return rng.normal(records.mean(), 1 / np.sqrt(len(records)), size=1)

    return Own()


class Mortal(soma.Model):
    """Kills its process the first `times` that it is asked for an update."""

    parameters = ["mu"]

    def __init__(self, marker, times=1):
        self.marker, self.times = str(marker), times

    def initial(self, rng):
        return [0.0]

    def propose(self, theta, size, rng):
        return rng.normal(theta[0], 1.0, size=(size, 1))

    def update(self, theta, records, rng):
        for death in range(self.times):
            try:
                os.close(os.open(f"{self.marker}{death}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return rng.normal(records.mean(), 1 / np.sqrt(len(records)), size=1)


def survivor(marker, times=1):
    """The same model once its deaths are behind it."""
    for death in range(times):
        open(f"{marker}{death}", "w").close()
    return Mortal(marker, times)


def test_process_pool(release, model, pool):
    here = soma.fit(release, model, **SHORT)
    there = soma.fit(release, model, executor=pool, **SHORT)
    assert np.array_equal(here.draws, there.draws)
    assert np.array_equal(here.log_density, there.log_density)


def test_models_travel(release, pool):
    own = model_of_main()
    here = soma.fit(release, own, **SHORT)
    assert np.array_equal(here.draws, soma.fit(release, own, executor=pool, **SHORT).draws)


def test_thread_pool(release, model):
    with ThreadPoolExecutor(2) as threads:
        there = soma.fit(release, model, executor=threads, **SHORT)
    assert np.array_equal(soma.fit(release, model, **SHORT).draws, there.draws)


def test_process_pool_that_loses_a_worker(release, tmp_path):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        posterior = soma.fit(release, Mortal(tmp_path / "a", 2), executor=pool, **SHORT)
    here = soma.fit(release, survivor(tmp_path / "b", 2), **SHORT)
    assert (tmp_path / "a1").exists()
    assert np.array_equal(posterior.draws, here.draws)


def test_process_pool_that_loses_all_workers(release, tmp_path):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(soma.WorkerLost, match="died 6 times"):
            soma.fit(release, Mortal(tmp_path / "a", 1000), executor=pool, **SHORT)


def test_dask(release, model, dask):
    there = soma.fit(release, model, executor=dask.get_executor(), **SHORT)
    assert np.array_equal(soma.fit(release, model, **SHORT).draws, there.draws)
    own = model_of_main()
    there = soma.fit(release, own, executor=dask.get_executor(), **SHORT)
    assert np.array_equal(soma.fit(release, own, **SHORT).draws, there.draws)


def test_dask_that_loses_a_worker(release, dask, tmp_path):
    posterior = soma.fit(
        release, Mortal(tmp_path / "a", 1), executor=dask.get_executor(), **SHORT
    )
    here = soma.fit(release, survivor(tmp_path / "b", 1), **SHORT)
    assert (tmp_path / "a0").exists()
    assert posterior.draws.shape == (4, 30, 1)
    assert np.array_equal(posterior.draws, here.draws)


def test_exceptions_come_home_with_their_traceback(release, pool):
    class Failing(type(model_of_main())):
        def update(self, theta, records, rng):
            raise ZeroDivisionError("by nothing")

    with pytest.raises(ZeroDivisionError, match="by nothing") as caught:
        soma.fit(release, Failing(), executor=pool, **SHORT)
    assert "in update" in str(caught.value.__cause__)


def test_exceptions_that_do_not_pickle_come_home_as_text(release, pool):
    class Stubborn(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

    class Failing(type(model_of_main())):
        def update(self, theta, records, rng):
            raise Stubborn("this", "that")

    with pytest.raises(RuntimeError, match="Stubborn: this and that"):
        soma.fit(release, Failing(), executor=pool, **SHORT)


def test_an_executor_that_is_broken_for_good(release, model):
    class Broken(Executor):
        def submit(self, function, /, *arguments, **options):
            raise BrokenProcessPool("for good")

    with pytest.raises(BrokenProcessPool, match="for good"):
        soma.fit(release, model, executor=Broken(), **SHORT)


def test_a_result_that_comes_twice_counts_once(release, model):
    class Twice(Executor):
        """Runs everything two times, and loses the first future of each."""

        def __init__(self):
            self.seen = 0

        def submit(self, function, /, *arguments, **options):
            self.seen += 1
            future = Future()
            result = function(*arguments)
            if self.seen % 2:
                future.set_exception(ConnectionError("lost the answer"))
            else:
                future.set_result(result)
            return future

    there = soma.fit(release, model, executor=Twice(), **SHORT)
    assert np.array_equal(soma.fit(release, model, **SHORT).draws, there.draws)


def processor_seconds(pid):
    """The processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="reads /proc")
def test_worker_processes_stop_at_ctrl_c_and_keep_their_draws(release):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pid = pool.submit(os.getpid).result()
        with ThreadPoolExecutor(1) as aside:
            options = dict(chains=1, warmup=0, draws=10_000_000, progress=False)
            model = soma.Normal(prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
            run = aside.submit(soma.fit, release, model, executor=pool, **options)
            # Two seconds of its own time: enough to import, and to begin, on a busy machine too.
            began = processor_seconds(pid)
            while processor_seconds(pid) < began + 2.0 and not run.done():
                time.sleep(0.05)
            os.kill(pid, signal.SIGINT)
            posterior = run.result(timeout=60)
    assert posterior.interrupted and 0 < posterior.draws.shape[1] < 10_000_000
