"""Runs independent tasks on threads, or on any executor."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import os
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Protocol

import cloudpickle

from ._soma import Control
from ._stop import StopFile, deaf_to_ctrl_c, listening

RETRIES = 5
"""How often a lost task is retried before it is an error."""

_TICK = 0.1
_GRACE = 10.0


class Task(Protocol):
    """One piece of a run. It can be pickled, and its result depends on the task alone."""

    def run(self, control: Control) -> Any:
        """The result; a partial one if `control` stops it."""


@dataclasses.dataclass
class Results:
    """The results of the tasks by index; missing ones were stopped."""

    done: dict[int, Any]
    interrupted: bool


class WorkerLost(RuntimeError):
    """The workers of an executor died repeatedly."""


def run_tasks(
    tasks: Sequence[Task],
    executor: Executor | None,
    threads: int | None,
    report: Callable[[Control, int], None],
) -> Results:
    """Runs the tasks, each with exactly one result.

    A task that was lost with its worker is run again, with the same result. Ctrl-C stops the tasks,
    and their results so far are returned. `report` is called ten times a second with the number of
    completed tasks.
    """
    control = Control()
    workers = _Threads(threads, control) if executor is None else _Workers(executor)
    results = Results({}, False)
    waiting: dict[Future[Any], int] = {}
    lost: collections.Counter[int] = collections.Counter()
    todo = collections.deque(range(len(tasks)))
    try:
        while todo or waiting:
            while todo:
                number = todo.popleft()
                waiting[workers.submit(tasks[number])] = number
            ready, _ = concurrent.futures.wait(
                waiting, _TICK, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in ready:
                number = waiting.pop(future)
                if workers.died(future):
                    lost[number] += 1
                    if lost[number] > RETRIES:
                        raise WorkerLost(
                            f"the worker of task {number} died {RETRIES + 1} times. {_DEATHS}"
                        ) from _cause(future)
                    todo.append(number)
                else:
                    results.done[number] = workers.result(future)
            report(control, len(results.done))
    except KeyboardInterrupt:
        results.interrupted = True
        workers.stop()
        results.done.update(_rescued(workers, waiting))
    except BaseException:
        workers.stop()
        for future in waiting:
            future.cancel()
        raise
    finally:
        workers.close()
    return results


def _rescued(workers: _Threads | _Workers, waiting: dict[Future[Any], int]) -> dict[int, Any]:
    """The results of stopped tasks that arrive within a short time.

    Tasks that had not begun return nothing. They are not cancelled, since the futures of some
    executors do not know whether they have begun. A second Ctrl-C ends the wait.
    """
    try:
        concurrent.futures.wait(waiting, workers.grace)
    except KeyboardInterrupt:
        pass
    here = [future for future in waiting if not future.cancel() and future.done()]
    whole = [future for future in here if not workers.died(future)]
    results = {waiting[future]: workers.result(future) for future in whole}
    return {number: result for number, result in results.items() if result is not None}


_DEATHS = (
    "Workers die of a lack of memory, or where they cannot import what they need: look at what "
    "they wrote to their standard error, and try one task here, without executor="
)


def _cause(future: Future[Any]) -> BaseException | None:
    return None if future.cancelled() else future.exception()


class _Threads:
    """Threads of this process, which a control stops."""

    grace = None

    def __init__(self, threads: int | None, control: Control) -> None:
        self.control = control
        self.pool = ThreadPoolExecutor(threads or processors())

    def submit(self, task: Task) -> Future[Any]:
        return self.pool.submit(task.run, self.control)

    def died(self, future: Future[Any]) -> bool:
        return False

    def result(self, future: Future[Any]) -> Any:
        return future.result()

    def stop(self) -> None:
        self.control.stop()

    def close(self) -> None:
        self.pool.shutdown()


class _Workers:
    """Workers of a user's executor: processes, here or on other machines.

    An exception of a task is returned as a value, so an exception of a future means that the worker
    was lost.
    """

    grace = _GRACE

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.own: Executor | None = None
        self.stop_file = StopFile()

    def submit(self, task: Task) -> Future[Any]:
        payload = cloudpickle.dumps(task)
        with deaf_to_ctrl_c(isinstance(self.executor, ProcessPoolExecutor)):
            try:
                return self.executor.submit(_run_pickled, payload, self.stop_file)
            except concurrent.futures.BrokenExecutor:
                self._renew()
                return self.executor.submit(_run_pickled, payload, self.stop_file)

    def _renew(self) -> None:
        """Replaces a process pool, which is unusable after one of its processes has died."""
        old = self.executor
        if not isinstance(old, ProcessPoolExecutor):
            raise
        self.close()
        names = ("max_workers", "mp_context", "initializer", "initargs")
        same = {name: getattr(old, f"_{name}") for name in names if hasattr(old, f"_{name}")}
        self.executor = self.own = ProcessPoolExecutor(**same)

    def died(self, future: Future[Any]) -> bool:
        return future.cancelled() or future.exception() is not None

    def result(self, future: Future[Any]) -> Any:
        outcome = future.result()
        if isinstance(outcome, _Raised):
            raise outcome.exception() from _Remote(outcome.text)
        return outcome

    def stop(self) -> None:
        self.stop_file.write()

    def close(self) -> None:
        if self.own is not None:
            self.own.shutdown(cancel_futures=True)


@dataclasses.dataclass
class _Raised:
    """An exception raised by a task, to be returned."""

    pickled: bytes
    text: str

    @staticmethod
    def of(error: Exception) -> _Raised:
        text = traceback.format_exc()
        try:
            pickled = cloudpickle.dumps(error)
            cloudpickle.loads(pickled)
        except Exception:
            pickled = cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return _Raised(pickled, text)

    def exception(self) -> Exception:
        error: Exception = cloudpickle.loads(self.pickled)
        return error


class _Remote(Exception):
    """Shows the traceback of an exception that was raised in another process."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def _run_pickled(payload: bytes, stop_file: StopFile) -> Any:
    """The result of a task; None if it was stopped before it began."""
    try:
        with listening(stop_file) as control:
            return None if control.stopped else cloudpickle.loads(payload).run(control)
    except Exception as error:
        return _Raised.of(error)


def processors() -> int:
    """The number of processors available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
