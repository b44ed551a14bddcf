"""Deadlines on the judge's own calls: the candidate dies first, then the session is given up."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from grader.judge import supervisor
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.supervisor import Supervisor


class _Candidate:
    """Stands for a client; `killed` is set by the supervisor."""

    def __init__(self) -> None:
        self.killed = threading.Event()

    def kill(self) -> None:
        self.killed.set()


def test_a_session_returns_and_raises_what_it_did() -> None:
    watched = Supervisor()

    def fine() -> int:
        with watched.watch("fill", 60.0), watched.watch("oracle", 60.0):
            return 7

    def fails() -> int:
        raise ZeroDivisionError

    assert watched.run(fine) == 7
    with pytest.raises(ZeroDivisionError):
        watched.run(fails)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_ends_programs_is_the_assignments_fault(error: type[BaseException]) -> None:
    def fails() -> int:
        raise error

    with pytest.raises(AssignmentFault) as raised:
        Supervisor().run(fails)
    assert error.__name__ in raised.value.detail


def test_what_blocks_on_the_candidate_is_freed_by_its_end() -> None:
    watched, candidate = Supervisor(), _Candidate()
    watched.attach(candidate)

    def session() -> int:
        with watched.watch("oracle", 0.2):
            candidate.killed.wait(30)
            raise CandidateFailure.__new__(CandidateFailure)  # what the candidate's end looks like

    with pytest.raises(AssignmentFault) as raised:
        watched.run(session)
    assert raised.value.what == "oracle"
    assert candidate.killed.is_set()


def test_what_does_not_come_back_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.2)
    watched, candidate, release = Supervisor(), _Candidate(), threading.Event()
    watched.attach(candidate)

    def session() -> None:
        with watched.watch("oracle", 0.1):
            release.wait(30)

    with pytest.raises(AssignmentFault):
        watched.run(session)
    assert candidate.killed.is_set()
    release.set()


def test_a_detached_candidate_is_left_alone() -> None:
    watched, candidate = Supervisor(), _Candidate()
    watched.attach(candidate)
    watched.detach(candidate)
    watched.detach(candidate)

    def session() -> None:
        with watched.watch("fill", 0.1):
            time.sleep(0.5)

    with pytest.raises(AssignmentFault):
        watched.run(session)
    assert not candidate.killed.is_set()


def test_an_interrupt_kills_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, candidate = Supervisor(), _Candidate()
    watched.attach(candidate)

    def interrupt(_thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watched, "_check", interrupt)
    with pytest.raises(KeyboardInterrupt):
        watched.run(lambda: candidate.killed.wait(30))
    assert candidate.killed.is_set()


HOLDS = """
from grader.judge import supervisor
supervisor.OUTSIDE_SECONDS = 0.5
watched = supervisor.Supervisor()


def session():
    with watched.watch("fill", 60.0):
        pass
    with watched.watch("oracle", 0.2):
        return 9**9**9


watched.run(session)
"""


def test_a_call_that_holds_the_interpreter_is_ended_from_outside() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOLDS], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert "oracle did not come back" in done.stderr


SLOW_TO_KILL = """
import threading
import time
from grader.judge import supervisor
from grader.judge.failure import AssignmentFault
supervisor.OUTSIDE_SECONDS = supervisor.GRACE_SECONDS = 0.5
watched = supervisor.Supervisor()
killed = threading.Event()


class Candidate:
    def kill(self):
        time.sleep(3)  # What it has piled up takes the kernel so long.
        killed.set()


def session():
    with watched.watch("oracle", 0.2):
        killed.wait(30)


watched.attach(Candidate())
try:
    watched.run(session)
except AssignmentFault as fault:
    print(fault)
"""


def test_a_candidate_that_takes_long_to_kill_does_not_cost_the_judge_its_life() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW_TO_KILL], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "oracle did not come back within its time" in done.stdout


def test_the_watcher_goes_with_the_session() -> None:
    watched = Supervisor()
    seen: list[subprocess.Popen[bytes]] = []
    watched.run(lambda: seen.append(watched._watcher._process))  # type: ignore[union-attr]
    assert seen[0].returncode == 0
