"""Every backend: the end of a sandbox, of which nothing is left whatever it tried."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import pidfd, reaper
from grader.sandbox.base import Backend, Command, Limits, Process
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]
Start = Callable[..., Process]
Ready = Callable[[Process], str]

DAEMON = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            time.sleep(600)
        os._exit(0)
    os.wait()
    print('started', flush=True)
"""
LEADER_GONE = """
    import ctypes, threading, time
    def run():
        print('ready', flush=True)
        while True:
            time.sleep(0.01)
    threading.Thread(target=run).start()
    # The main thread ends, the process lives on: /proc shows a zombie and cgroup.kill passes it by.
    ctypes.CDLL(None).syscall(60, 0)
"""
STOPPED = """
    import os, signal
    print('ready', flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""
DEAF = """
    import os, signal, time
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    print('ready', flush=True)
    while True:
        time.sleep(60)
"""
TRACED = """
    import ctypes, os, time
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        time.sleep(600)
    print([libc.ptrace(request, pid, 0, 0) for request in (16, 0x4206) for pid in (1, child)], flush=True)
    time.sleep(600)
"""


def alive(uid: str) -> list[str]:
    """Commands of processes of this uid that the host has."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nUid:\t{uid}\t" in text and "\nState:\tZ" not in text:
            found.append(text.splitlines()[0])
    return found


def test_daemon_ends_with_its_program(run: Run) -> None:
    code = textwrap.dedent(DAEMON) + "print(os.getuid())"
    outcome = run(code)
    started, uid = outcome.text.split()
    assert (started, outcome.exit.code) == ("started", 0)
    assert alive(uid) == []


@pytest.mark.parametrize(
    "program", [LEADER_GONE, STOPPED, DEAF, TRACED], ids=["leader-gone", "stopped", "deaf", "traced"]
)
def test_nothing_outlives_a_kill(
    start: Start,
    line_of: Ready,
    host_status: Callable[[int], dict[str, str]],
    remains: Callable[[int], set[str]],
    program: str,
) -> None:
    process = start(program)
    try:
        line = line_of(process)
        uid = host_status(process.host_pid)["Uid"].split()[0]
        end = process.kill(5.0)
    finally:
        process.close()
    assert line in {"ready", "[-1, -1, -1, -1]"}
    assert end.signal == signal.SIGKILL
    assert alive(uid) == []
    assert remains(os.getpid()) == set()


def test_a_kernel_that_takes_long_to_take_a_program_apart_is_waited_for(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of mappings and watched descriptors, within every limit, take it many seconds."""
    ended = pidfd.ended
    monkeypatch.setattr(
        pidfd, "ended", lambda handle, seconds=0.0: not 0.0 < seconds < 30.0 and ended(handle, seconds)
    )
    process = start(["/bin/sleep", "600"])
    try:
        assert process.kill().signal == signal.SIGKILL
    finally:
        process.close()


def test_exit_before_a_kill_is_kept(start: Start) -> None:
    process = start(["/bin/sh", "-c", "exit 7"])
    try:
        time.sleep(0.3)
        assert process.kill().code == 7
        assert process.wait(0) == process.kill()
    finally:
        process.close()
    process.close()


def test_wait_has_a_deadline(start: Start) -> None:
    process = start("import time; time.sleep(600)")
    try:
        assert process.wait(0.05) is None
    finally:
        process.close()


def test_sandbox_outlives_the_thread_that_started_it(backend: Backend) -> None:
    started: list[Process] = []
    command = Command(["/bin/sh", "-c", "sleep 0.3; exit 5"])
    thread = threading.Thread(target=lambda: started.append(backend.start(command, Limits())))
    thread.start()
    thread.join()
    end = started[0].wait(20)
    started[0].close()
    assert end is not None
    assert end.code == 5


def test_many_starts_leave_nothing(backend: Backend, remains: Callable[[int], set[str]]) -> None:
    """500 of them are for `benchmarks.sandbox_start`."""

    def state() -> tuple[int, str, set[str], int]:
        left = remains(os.getpid())  # First: it may connect to the engine.
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        return descriptors, children, left, threading.active_count()

    def own_mounts() -> list[str]:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line for line in lines if "/docker/" not in line]  # Those are anybody's.

    mounts = own_mounts()
    backend.start(Command(["/bin/true"]), Limits()).close()
    before = state()
    for number in range(8 if backend.name == "docker" else 50):
        process = backend.start(Command(["/bin/sh", "-c", "sleep 600 & exit 0"]), Limits())
        if number % 2:
            process.wait(10)
        process.close()
    assert state() == before
    assert own_mounts() == mounts


JUDGE = """
    import os, sys, time
    from grader.sandbox.base import Command, Limits
    from grader.sandbox.registry import BACKENDS
    program = "import os, time; print(os.getuid(), flush=True); os.fork(); os.setsid(); time.sleep(600)"
    backend = BACKENDS[sys.argv[1]]()
    process = backend.start(Command([backend.python, "-I", "-S", "-c", program]), Limits())
    if "frozen" in sys.argv:
        time.sleep(0.3)
        process.freezer.freeze()
    while True:
        try:
            print(os.read(process.stdout, 100).decode().strip(), flush=True)
            break
        except BlockingIOError:
            time.sleep(0.01)
    time.sleep(600)
"""


@pytest.mark.parametrize("state", ["running", "frozen"])
def test_sandbox_of_a_killed_judge_dies_and_what_is_left_is_reaped(
    backend: Backend, remains: Callable[[int], set[str]], state: str
) -> None:
    command = [sys.executable, "-c", textwrap.dedent(JUDGE), backend.name, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        uid = judge.stdout.readline().strip()
        assert len(remains(judge.pid)) >= 1
        assert alive(uid)
        reaper.reap()
        assert alive(uid), "what a living judge has stays"
        judge.kill()
    reaper.reap()
    deadline = time.monotonic() + 10
    while alive(uid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive(uid) == []
    assert remains(judge.pid) == set()


def test_a_judge_killed_while_it_looks_for_cgroups_leaves_nothing(remains: Callable[[int], set[str]]) -> None:
    code = "import os, signal; from grader.sandbox import hierarchy; "
    code += "hierarchy._remove = lambda _folder: os.kill(os.getpid(), signal.SIGKILL); hierarchy.find()"
    with subprocess.Popen([sys.executable, "-c", code]) as judge:
        assert judge.wait(60) == -signal.SIGKILL
    assert remains(judge.pid)
    reaper.reap()
    assert remains(judge.pid) == set()
