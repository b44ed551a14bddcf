"""Every hostile program gets the right verdict, does no harm, leaves nothing, and harms where its limit is lifted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.contract import Report

HARM = "harm:"


def test_a_hostile_program_is_contained(
    program: Any,
    host: Any,
    grade: Callable[[str, bytes], Report],
    unharmed: Callable[[], str],
    leftovers: Callable[[], set[str]],
) -> None:
    before, mounts = leftovers(), Path("/proc/self/mountinfo").read_text()
    report = grade(f"solution{program.path.suffix}", host.source(program))
    assert report.verdict.value in program.verdicts, report.message
    assert HARM not in report.model_dump_json()
    assert leftovers() <= before
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert unharmed() == "accepted"


def test_the_same_program_does_its_harm_where_its_limit_is_lifted(
    program: Any, control: Callable[[Any], str]
) -> None:
    assert HARM in control(program)
