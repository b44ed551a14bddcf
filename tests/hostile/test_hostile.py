"""Every hostile program gets the right verdict, does no harm, leaves nothing, and harms where its limit is lifted."""

from collections.abc import Callable
from typing import Any

from grader.contract import Report
from grader.sandbox.base import Backend


def test_a_hostile_program_is_contained(
    program: Any,
    backend: Backend,
    host: Any,
    grade: Callable[[str, bytes], Report],
    build: Callable[[Any], Any],
    unharmed: Callable[[], str],
    traces: Callable[[], set[str]],
    unclean: Callable[[Any], list[str]],
    record: Callable[..., None],
) -> None:
    unharmed()  # What is made once, and stays, is there before anybody looks.
    before = traces()
    report = grade(f"solution{program.path.suffix}", host.source(program))
    built = build(program) if program.at_build else None
    left = traces() - before
    document = report.model_dump(mode="json")
    log = "" if built is None else built.result.log
    harm = [word for word in ("harm:", host.secret) if word in f"{document}{log}"]
    obeyed = unclean(document) + unclean(log)
    canary = unharmed()
    record(
        check="contained",
        program=program.path.name,
        family=program.family,
        backend=backend.name,
        expected=",".join(program.verdicts),
        verdict=report.verdict.value,
        expected_at_build=",".join(program.at_build),
        verdict_at_build="" if built is None else built.verdict.value,
        escaped=bool(harm or obeyed),
        left=len(left),
        canary=canary,
    )
    assert report.verdict.value in program.verdicts, (report.message, report.staff)
    assert built is None or built.verdict.value in program.at_build, (built.message, log)
    assert not harm
    assert not obeyed
    assert not left
    assert canary == "accepted"


def test_the_same_program_does_its_harm_where_its_limit_is_lifted(
    program: Any, backend: Backend, control: Callable[[Any], str], record: Callable[..., None]
) -> None:
    shown = control(program)
    record(
        check="control",
        program=program.path.name,
        family=program.family,
        backend=backend.name,
        lift=program.lift,
        expected=program.shows,
        harmful=shown == program.shows,
    )
    assert shown == program.shows
