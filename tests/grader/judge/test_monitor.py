"""Whose fault the end of a candidate is."""

import pytest

from grader.contract import Verdict
from grader.judge.monitor import Monitor
from grader.sandbox.base import Exit, Limits, SandboxError, Usage


def explained(usage: Usage) -> Verdict:
    monitor = Monitor.__new__(Monitor)
    monitor._limits = Limits()
    return monitor._explain(Exit(None, 9, usage), gone=True).verdict


def test_a_machine_out_of_memory_is_not_the_students_fault() -> None:
    assert explained(Usage(1.0, 1 << 30, oom_kills=1, process_limit_hits=0)) is Verdict.MEMORY_LIMIT
    with pytest.raises(SandboxError, match="machine ran out of memory"):
        explained(Usage(1.0, 1 << 20, oom_kills=0, process_limit_hits=0, host_oom_kills=1))
