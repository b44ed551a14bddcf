"""Every hostile program gets the right verdict, does no harm, leaves nothing, and harms where its limit is lifted."""

from collections.abc import Callable
from typing import Any

from grader.contract import Report
from grader.sandbox.base import Backend
from tests.hostile import corpus, grading


def harm_in(said: str, host: Any) -> list[str]:
    """What a Report or log says of harm that was done, or of what only the host knows."""
    return [word for word in ("harm:", host.secret) if word in said]


def test_a_hostile_program_is_contained(
    program: Any,
    backend: Backend,
    host: Any,
    grade: Callable[..., Report],
    build: Callable[[Any], Any],
    unharmed: Callable[[], str],
    traces: Callable[[], set[str]],
    unclean: Callable[[Any], list[str]],
    record: Callable[..., None],
) -> None:
    before = traces()
    limits = grading.limits(program.verdicts)
    report = grade(f"solution{program.path.suffix}", host.source(program), limits)
    built = build(program) if program.at_build else None
    left = traces() - before
    document = report.model_dump(mode="json")
    log = "" if built is None else built.result.log
    harm = harm_in(f"{document}{log}", host)
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
        traces=sorted(left),
        canary=canary,
    )
    assert report.verdict.value in program.verdicts, (report.message, report.staff)
    assert built is None or built.verdict.value in program.at_build, (built.message, log)
    assert (harm, obeyed, left, canary) == ([], [], set(), "accepted")


def test_it_is_contained_in_a_rank_of_several(
    program: Any,
    backend: Backend,
    host: Any,
    in_rank: Callable[[Any], bytes],
    grade_ranks: Callable[..., Report],
    ranks_unharmed: Callable[[], str],
    traces: Callable[[], set[str]],
    unclean: Callable[[Any], list[str]],
    record: Callable[..., None],
) -> None:
    before = traces()
    report = grade_ranks("solution.py", in_rank(program), grading.limits(program.in_rank))
    left = traces() - before
    document = report.model_dump(mode="json")
    harm = harm_in(f"{document}", host)
    obeyed = unclean(document)
    canary = ranks_unharmed()
    record(
        check="rank",
        program=program.path.name,
        family=program.family,
        backend=backend.name,
        expected=",".join(program.in_rank),
        verdict=report.verdict.value,
        escaped=bool(harm or obeyed),
        left=len(left),
        traces=sorted(left),
        canary=canary,
    )
    assert report.verdict.value in program.in_rank, (report.message, report.staff)
    assert (harm, obeyed, left, canary) == ([], [], set(), "accepted")


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


def test_a_run_draws_one_of_each_family_and_others_by_the_commit() -> None:
    programs = corpus.corpus()
    families = {one.family for one in programs}
    draws = [corpus.drawn(seed) for seed in ("a", "a", "b")]
    assert draws[0] == draws[1] != draws[2]
    for drawn in draws:
        assert {one.family for one in drawn} == families
        assert len({one.path for one in drawn}) == len(families) + corpus.REMAINDER
