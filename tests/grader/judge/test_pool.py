"""The judge's pool: work is split over cores, results and failures come back in order."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from grader.judge.cores import Cores
from grader.judge.pool import CorePool


@pytest.fixture(params=[1, 2])
def pool(request: pytest.FixtureRequest) -> Iterator[CorePool]:
    cpus = sorted(os.sched_getaffinity(0))[: request.param]
    assert len(cpus) == request.param, "this test needs two cores"
    pool = CorePool(Cores(cpus[0], frozenset(cpus[1:]) or frozenset(cpus)))
    yield pool
    pool.close()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_every_item_is_worked_on_once_and_in_order(pool: CorePool, count: int) -> None:
    parts = pool.over(count, list)
    assert [item for part in parts for item in part] == list(range(count))
    assert all(parts)


def test_each_core_has_a_thread_of_its_own(pool: CorePool) -> None:
    seen = pool.everywhere(lambda: (threading.get_ident(), frozenset(os.sched_getaffinity(0))))
    if len(seen) > 1:
        assert len({ident for ident, _ in seen}) == len({cpus for _, cpus in seen}) == 2
        assert all(len(cpus) == 1 for _, cpus in seen)
    else:
        assert seen[0][0] == threading.get_ident()


def test_the_first_failure_is_raised_when_nothing_runs_any_more(pool: CorePool) -> None:
    ended = []

    def work(part: range) -> None:
        if part.start > 0:
            time.sleep(0.2)
        ended.append(part.start)
        raise ValueError(part.start)

    with pytest.raises(ValueError, match=r"^0$"):
        pool.over(2, work)
    assert len(ended) == len(pool.everywhere(lambda: None))


HANGS = """
import os, threading
from grader.judge.cores import Cores
from grader.judge.pool import CorePool

cpus = sorted(os.sched_getaffinity(0))
pool, begun = CorePool(Cores(cpus[0], frozenset(cpus[1:2]))), threading.Barrier(3)
forever = lambda part: (begun.wait(), threading.Event().wait())
threading.Thread(target=pool.over, args=(2, forever), daemon=True).start()
begun.wait()
print("given up")
"""


def test_work_that_never_returns_does_not_keep_a_program_that_ends() -> None:
    command = [sys.executable, "-c", HANGS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "given up\n"


def test_threads_end_with_the_pool(pool: CorePool) -> None:
    before = set(threading.enumerate())
    pool.everywhere(lambda: None)
    pool.close()
    assert set(threading.enumerate()) <= before
