"""A frozen sandbox does not run: no signal, timer, fork or vfork gets around it."""

import contextlib
import os
import select
import statistics
import time
from collections.abc import Callable

import pytest

from grader.sandbox import cgroup, freezer, hierarchy
from grader.sandbox.base import Freezer, FreezeTimeoutError, Limits, Process

BUSY = "print('ready', flush=True)\nwhile True: pass"
TIMERS = """
    import os, signal, time
    # Every millisecond a timer raises SIGCONT, which would end a stop by signals.
    signal.signal(signal.SIGCONT, lambda *_: None)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(0, signal.SIGCONT))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    print('ready', flush=True)
    while True: pass
"""
FORKS = """
    import os, time
    print('ready', flush=True)
    # A chain: each process forks the next and ends, so that whoever lists them is late.
    if os.fork():
        time.sleep(60)
    while True:
        os.setsid() if os.getpgrp() != os.getpid() else None
        if os.fork():
            os._exit(0)
"""
VFORKS = """
    import subprocess
    print('ready', flush=True)
    while True: subprocess.run(['/bin/true'])
"""


@pytest.mark.parametrize("program", [BUSY, TIMERS, FORKS, VFORKS], ids=["busy", "sigcont", "forks", "vforks"])
def test_cpu_time_stands_still(
    start: Callable[..., Process], line_of: Callable[[Process], str], program: str
) -> None:
    process = start(program)
    try:
        line_of(process)
        assert process.freezer is not None
        for _ in range(20):
            process.freezer.freeze()
            time.sleep(0.001)
            before = process.freezer.cpu_seconds()
            time.sleep(0.01)
            assert process.freezer.cpu_seconds() - before < 0.0002
            process.freezer.thaw()
            time.sleep(0.002)
        used = process.freezer.cpu_seconds()
        time.sleep(0.3)
        assert process.freezer.cpu_seconds() > used, "it runs again when thawed"
        assert process.usage().cpu_seconds > 0
    finally:
        process.close()


def test_output_stops_while_frozen(start: Callable[..., Process], line_of: Callable[[Process], str]) -> None:
    process = start(
        "import os, time\nprint('ready', flush=True)\nwhile True: os.write(1, b'x'); time.sleep(0.0005)"
    )
    try:
        line_of(process)
        assert process.freezer is not None
        process.freezer.freeze()
        with contextlib.suppress(BlockingIOError):
            os.read(process.stdout, 1 << 20)
        time.sleep(0.05)
        with pytest.raises(BlockingIOError):
            os.read(process.stdout, 1)
        process.freezer.thaw()
        assert select.select([process.stdout], [], [], 20)[0]
        assert os.read(process.stdout, 1) == b"x"
    finally:
        process.close()


def test_frozen_sandbox_can_be_killed_without_running_again(
    start: Callable[..., Process], line_of: Callable[[Process], str]
) -> None:
    process = start(BUSY)
    try:
        line_of(process)
        assert process.freezer is not None
        process.freezer.freeze()
        used = process.freezer.cpu_seconds()
        end = process.kill()
        assert end.signal == 9
        assert end.usage.cpu_seconds - used < 0.01
        assert process.freezer is None
    finally:
        process.close()


def test_freezing_an_ended_sandbox_returns(start: Callable[..., Process]) -> None:
    process = start(["/bin/true"])
    try:
        time.sleep(0.3)
        assert process.freezer is not None
        process.freezer.freeze()
    finally:
        process.close()


def test_a_freeze_that_is_not_confirmed_times_out() -> None:
    with pytest.raises(FreezeTimeoutError):
        freezer.poll(lambda: False, 0.01)


def test_first_generation_freezer_holds_too() -> None:
    """Where v2 is not mounted at all, the v1 freezer and cpuacct stand in."""
    group = cgroup.create(Limits(), trees=[tree for tree in hierarchy.find() if tree.version == 1])
    assert group is not None
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "while :; do :; done"], {})
    try:
        group.add(pid)
        held: Freezer | None = group.freezer
        assert held is not None
        assert held.kind == "cgroup1"
        time.sleep(0.05)
        held.freeze()
        before = held.cpu_seconds()
        time.sleep(0.02)
        assert before > 0
        assert held.cpu_seconds() - before < 0.0002
    finally:
        group.kill()
        os.waitpid(pid, 0)
        group.discard()


@pytest.mark.alone
def test_freeze_and_thaw_are_fast_enough_for_rounds_of_ten_milliseconds(
    start: Callable[..., Process],
) -> None:
    process = start("import time; time.sleep(60)")
    try:
        assert process.freezer is not None
        seconds = []
        for _ in range(50):
            begin = time.perf_counter()
            process.freezer.freeze()
            process.freezer.thaw()
            seconds.append(time.perf_counter() - begin)
        # Measured: 0.05 to 0.4 ms. The bound is loose: it is to notice a poll that sleeps.
        assert statistics.median(seconds) < 0.005
    finally:
        process.close()
