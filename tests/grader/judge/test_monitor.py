"""Whose fault the end of a candidate is."""

import pytest

from grader.contract import Language, Verdict
from grader.judge.channel import Pipes
from grader.judge.client import Client
from grader.judge.exchange import Exchange
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Built, Failed
from grader.judge.monitor import Monitor
from grader.messages import text
from grader.sandbox.base import Exit, Limits, SandboxError, Usage


def explained(usage: Usage) -> Verdict:
    monitor = Monitor.__new__(Monitor)
    monitor._limits = Limits()
    return monitor._explain(Exit(None, 9, usage), gone=True).verdict


def test_a_machine_out_of_memory_is_not_the_students_fault() -> None:
    assert explained(Usage(1.0, 1 << 30, oom_kills=1, process_limit_hits=0)) is Verdict.MEMORY_LIMIT
    with pytest.raises(SandboxError, match="machine ran out of memory"):
        explained(Usage(1.0, 1 << 20, oom_kills=0, process_limit_hits=0, host_oom_kills=1))


class Killed:
    """A program of which the kernel has killed a child for memory, just after a look at its limits."""

    oom_kills = 0
    killed = False
    pidfd = stdout = stderr = -1

    def usage(self) -> Usage:
        return Usage(0.0, None, self.oom_kills, 0)

    def kill(self) -> None:
        self.killed = True


def test_a_failure_for_want_of_memory_is_told_as_such_however_fast_it_is_told() -> None:
    process = Killed()
    told: list[Failed] = []

    def explain(answer: Failed) -> CandidateFailure:
        told.append(answer)
        return CandidateFailure(Verdict.RUNTIME_ERROR, text("closed"), alive=True)

    exchange = Exchange(process, Pipes(-1, -1, -1, -1), Limits(), explain)  # type: ignore[arg-type]
    answer = Failed(type="failed", id="0" * 32, kind="exception", text="g++ returned 1")
    exchange._monitor.service(())
    assert exchange.reported(answer).verdict is Verdict.RUNTIME_ERROR
    process.oom_kills = 1
    exchange._monitor.service(())  # Too early for another look.
    assert exchange.reported(answer).verdict is Verdict.MEMORY_LIMIT
    assert (process.killed, exchange.alive, len(told)) == (True, False, 1)


def test_a_compiler_that_is_killed_for_memory_is_no_error_of_the_source() -> None:
    process = Killed()
    client = Client(process, Pipes(-1, -1, -1, -1), None, Limits(), Language.CPP)  # type: ignore[arg-type]
    client._exchange._monitor.service(())
    process.oom_kills = 1

    class Answered:
        """An exchange that is asked for a build, and told that the compiler has failed."""

        limit_passed = client._exchange.limit_passed

        def ask(self, *_: object) -> Built:
            return Built(type="built", id="0" * 32, status=1, log_bytes=0, artifact_bytes=0)

    client.versions = object()  # type: ignore[assignment]
    client._exchange = Answered()  # type: ignore[assignment]
    client._send_files = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(CandidateFailure) as failed:
        client.build({}, "solution.cpp", 1.0)
    assert failed.value.verdict is Verdict.MEMORY_LIMIT
