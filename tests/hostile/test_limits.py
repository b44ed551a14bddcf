"""No limit is early: what stays below every one is accepted; no time limit is more than five seconds late."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from grader.contract import Language, Report, Verdict
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.sandbox.base import Backend, Limits

LATE_SECONDS = 5.0
WIDE = Limits(wall_seconds=60.0, cpu_seconds=60.0)
BELOW_EVERY_LIMIT = b"""
import os
import time


def take_memory():
    resident = int(open("/proc/self/statm").read().split()[1]) * 4096
    held = bytearray(b"x") * (int(0.85 * (1024 << 20)) - resident)
    return len(held)


def take_processes():
    children = []
    for _ in range(25):  # Libraries give each a thread of theirs.
        child = os.fork()
        if child == 0:
            time.sleep(600)
        children.append(child)
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


def take_files(folder, size):
    with open(f"{folder}/file", "wb", buffering=0) as file:
        for _ in range(size):
            assert file.write(bytes(1 << 20)) == 1 << 20
    os.unlink(f"{folder}/file")


def take_inodes():
    for number in range(16000):
        open(f"/tmp/{number}", "w").close()
    for number in range(16000):
        os.unlink(f"/tmp/{number}")


def take_descriptors():
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(950)]
    for descriptor in held:
        os.close(descriptor)


def solve(x, y):
    take_memory()
    take_processes()
    take_files("/tmp", 250)
    take_files("/dev/shm", 60)
    take_inodes()
    take_descriptors()
    os.write(1, b"x" * (250 << 10))
    y.copy_(2 * x)
"""
BELOW_THE_CPU_LIMIT = b"""
import time


def solve(x, y):
    begin = time.process_time()
    while time.process_time() < begin + 3.7:
        pass
    y.copy_(2 * x)
"""


@pytest.mark.parametrize("source", [BELOW_EVERY_LIMIT, BELOW_THE_CPU_LIMIT], ids=["all", "cpu"])
def test_what_stays_below_the_limits_is_accepted(
    source: bytes, backend: Backend, grade: Callable[[str, bytes], Report]
) -> None:
    report = grade("solution.py", source)
    assert report.verdict is Verdict.ACCEPTED, report.message


@pytest.mark.parametrize(
    ("limits", "source"),
    [
        ({"cpu_seconds": 1.5}, "while True: pass"),
        ({"cpu_seconds": 1.5}, "import os\nos.fork()\nwhile True: pass"),
        ({"wall_seconds": 1.5}, "import time\ntime.sleep(600)"),
        ({"wall_seconds": 1.5}, "while True: pass"),
    ],
    ids=["cpu", "cpu-of-two", "asleep", "busy"],
)
def test_a_time_limit_is_neither_early_nor_late(
    limits: dict[str, float], source: str, backend: Backend
) -> None:
    client = Client.start(backend, replace(WIDE, **limits), arena_bytes=1, language=Language.PYTHON)  # type: ignore[arg-type]
    ((name, limit),) = limits.items()
    with client:
        client.ready()
        begin, cpu = time.monotonic(), client.process.usage().cpu_seconds

        def used() -> float:
            return client.process.usage().cpu_seconds - cpu

        # On a busy machine CPU time comes slowly: a CPU limit is late from when so much has been used.
        with due(used if name == "cpu_seconds" else lambda: time.monotonic() - begin, limit) as moment:
            with pytest.raises(CandidateFailure) as failed:
                client.load({"solution.py": source.encode()}, "solve", "solution.py")
            end = time.monotonic()
        taken = used() if name == "cpu_seconds" else end - begin
    assert failed.value.verdict is Verdict.TIME_LIMIT
    assert limit <= taken + 1e-3
    assert end - moment() <= LATE_SECONDS


@contextmanager
def due(amount: Callable[[], float], limit: float) -> Iterator[Callable[[], float]]:
    """A clock's last reading before so much was seen to be taken: no later than when the limit was passed."""
    before = [time.monotonic()]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            now = time.monotonic()
            if amount() >= limit:
                return
            before[0] = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: before[0]
    finally:
        over.set()
        watcher.join()
