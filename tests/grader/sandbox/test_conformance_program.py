"""Every backend: who a sandboxed program is, what it is given, and how its end is told."""

import os
import pwd
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.languages import PROGRAMS
from grader.sandbox.base import Backend, Limits, Process, SandboxError
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]
Start = Callable[..., Process]

EMPTY = "0000000000000000"
LIVED_THROUGH = {
    *(signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),
    *(signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
}
"""Signals that are ignored or stop a program: it does not end."""
WAIT = "print('ready', flush=True); import time; time.sleep(60)"


def test_kernel_sees_an_unprivileged_uid_of_its_own(
    start: Start, line_of: Callable[[Process], str], host_status: Callable[[int], dict[str, str]]
) -> None:
    process = start(WAIT)
    try:
        line_of(process)
        status = host_status(process.host_pid)
    finally:
        process.close()
    uids = set(status["Uid"].split())
    assert len(uids) == 1
    uid = int(uids.pop())
    assert uid not in {0, os.getuid()} | {user.pw_uid for user in pwd.getpwall()}
    assert set(status["Gid"].split()) == {str(uid)}
    assert status["Groups"] in {"", str(uid)}  # Docker lists a user's own group again
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {EMPTY}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_two_sessions_never_share_a_uid(start: Start, host_status: Callable[[int], dict[str, str]]) -> None:
    processes = [start(WAIT) for _ in range(3)]
    try:
        uids = {host_status(process.host_pid)["Uid"].split()[0] for process in processes}
    finally:
        for process in processes:
            process.close()
    assert len(uids) == 3


def test_environment_is_only_what_was_given(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_JUDGE", "1")
    outcome = run("import os; print(sorted(os.environ.items()))", environment={"GIVEN": "a b=c"})
    expected = {"GIVEN": "a b=c", "LANG": "C.UTF-8", "PATH": PROGRAMS}
    expected |= dict.fromkeys(("HOME", "PWD", "TMPDIR"), "/tmp")
    assert outcome.text.strip() == str(sorted(expected.items()))


def test_only_the_given_descriptors_are_open(run: Run, tmp_path: Path) -> None:
    stray = os.open("/etc/shadow", os.O_RDONLY)
    os.set_inheritable(stray, True)
    reader, writer = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    code = """
        import os
        # The descriptor that lists the folder is gone when the list is looked at.
        held = [name for name in os.listdir('/proc/self/fd') if os.path.lexists('/proc/self/fd/' + name)]
        print(sorted(map(int, held)), os.readlink('/proc/self/fd/0'))
        os.write(200, b'through the pipe')
    """
    try:
        # Numbers inside and outside cross: a target may be the number of another's source.
        outcome = run(code, descriptors={7: writer if writer != 7 else folder, 200: writer})
        assert outcome.text == "[0, 1, 2, 7, 200] /dev/null\n"
        assert os.read(reader, 100) == b"through the pipe"
    finally:
        for descriptor in (stray, reader, writer, folder):
            os.close(descriptor)


def test_standard_streams_cannot_be_given(start: Start) -> None:
    with pytest.raises(SandboxError):
        start(["/bin/true"], descriptors={1: 1})


@pytest.mark.parametrize("code", [0, 1, 127, 139, 159, 255])
def test_exit_code_is_the_programs_own(run: Run, code: int) -> None:
    end = run(["/bin/sh", "-c", f"exit {code}"]).exit
    assert (end.code, end.signal, end.syscall_violation) == (code, None, False)


@pytest.mark.parametrize("number", [1, 6, 9, 11, 15, 31])
def test_signal_is_told_from_an_exit_code(run: Run, number: int) -> None:
    end = run(["/bin/sh", "-c", f"kill -{number} $$"]).exit
    assert (end.code, end.signal, end.syscall_violation) == (None, number, number == 31)


def test_every_way_to_end_is_told_as_it_was(run: Run, backend: Backend) -> None:
    """All exit codes and signals; with Docker, which starts slowly, those that are taken for others."""
    codes, signals = set(range(256)), set(map(int, signal.valid_signals())) - LIVED_THROUGH
    if backend.name == "docker":
        codes, signals = {2, 125, 126, 128, 137, 143, 254}, {2, 4, 7, 8, 13, 24, 25, 64}

    def end(script: str) -> tuple[int | None, int | None]:
        found = run(["/bin/sh", "-c", script]).exit
        return found.code, found.signal

    with ThreadPoolExecutor(4) as pool:
        told = dict(zip(codes, pool.map(lambda code: end(f"exit {code}"), codes), strict=True))
        killed = dict(zip(signals, pool.map(lambda number: end(f"kill -{number} $$"), signals), strict=True))
    assert told == {code: (code, None) for code in codes}
    assert killed == {number: (None, number) for number in signals}


def test_setup_that_fails_says_why_and_leaves_nothing(
    start: Start, remains: Callable[[int], set[str]]
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(SandboxError, match="/nowhere/at/all"):
        start(["/bin/true"], read_only={"/given": Path("/nowhere/at/all")})
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert remains(os.getpid()) == set()


def test_absent_program_is_the_programs_failure(run: Run) -> None:
    outcome = run(["/no/such/program"])
    assert outcome.exit.code == 127
    assert b"/no/such/program" in outcome.stderr


def test_the_judges_interpreter_and_its_packages_run_inside(run: Run) -> None:
    outcome = run([sys.executable, "-c", "import sys, numpy; print(sys.prefix, numpy.ones(3).sum())"])
    assert outcome.text.strip() == f"{sys.prefix} 3.0", outcome.stderr


def test_cpus_are_those_given_and_stay(run: Run) -> None:
    cpu = min(os.sched_getaffinity(0))
    code = """
        import os
        print(sorted(os.sched_getaffinity(0)))
        os.sched_setaffinity(0, range(os.cpu_count()))
        print(sorted(os.sched_getaffinity(0)))
    """
    assert run(code, cpus=frozenset({cpu})).text == f"[{cpu}]\n" * 2


def test_limits_need_not_be_asked_for(run: Run) -> None:
    assert run(["/bin/true"], limits=Limits()).exit.code == 0
