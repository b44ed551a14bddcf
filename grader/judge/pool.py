"""Threads of the judge that fill and audit slots while the candidate is frozen, one on each core.

A candidate that stands still leaves its cores idle; a round is then over sooner, and more rounds are measured
in the same time. While the candidate runs they wait in the kernel: nothing of the judge is on its cores.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeVar

from grader import allocator
from grader.judge.cores import Cores

MOST = 8
"""What fill and audit need is memory bandwidth; a few cores take all of it."""
Result = TypeVar("Result")


class CorePool:
    """One thread on the judge's core and one on each of the candidate's, `MOST` at the most.

    On a machine with a single core the caller does everything. `close` ends the threads.
    """

    def __init__(self, cores: Cores) -> None:
        allocator.keep()
        cpus = [cores.judge, *sorted(cores.candidate - {cores.judge})][:MOST]
        self._workers = [_Worker(f"judge-{cpu}") for cpu in cpus] if len(cpus) > 1 else []
        _all([worker.submit(_settle, cpu) for worker, cpu in zip(self._workers, cpus, strict=False)])

    def over(self, count: int, work: Callable[[range], Result]) -> list[Result]:
        """`work` on consecutive parts of range(count), side by side; results in order.

        Raises what the first part raises. All parts have ended by then: nothing goes on in the background.
        """
        parts = _parts(count, max(1, len(self._workers)))
        if not self._workers:
            return [work(part) for part in parts]
        return _all([worker.submit(work, part) for worker, part in zip(self._workers, parts, strict=False)])

    def everywhere(self, work: Callable[[], Result]) -> list[Result]:
        """`work` once on every core of the pool; results in their order, the judge's core first."""
        if not self._workers:
            return [work()]
        return _all([worker.submit(work) for worker in self._workers])

    def close(self) -> None:
        """End the threads."""
        for worker in self._workers:
            worker.close()
        self._workers = []


class _Worker:
    """A thread that does one thing after the other.

    The interpreter waits for executors' threads when it ends. It must not for an oracle that never returns:
    the session was given up, and its Report is written.
    """

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[..., Result], *arguments: object) -> "Future[Result]":
        """Have the thread do this after what it was given before."""
        future: Future[Result] = Future()

        def task() -> None:
            try:
                future.set_result(work(*arguments))
            except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
                future.set_exception(error)

        self._tasks.put(task)
        return future

    def close(self) -> None:
        """End the thread, once it has done what it was given."""
        self._tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task  # What it worked on can be large.


def _settle(cpu: int) -> None:
    """Keep the calling thread on one core, and torch's work in it on this thread."""
    import torch

    os.sched_setaffinity(threading.get_native_id(), {cpu})
    torch.set_num_threads(1)


def _parts(count: int, parts: int) -> list[range]:
    """Consecutive ranges that cover range(count), of sizes that differ by one at most; none is empty."""
    parts = max(1, min(parts, count))
    bounds = [count * part // parts for part in range(parts + 1)]
    return [range(begin, end) for begin, end in pairwise(bounds)]


def _all(futures: "list[Future[Result]]") -> list[Result]:
    for future in futures:
        future.exception()  # Waits: whatever fails, the others have ended too.
    return [future.result() for future in futures]
