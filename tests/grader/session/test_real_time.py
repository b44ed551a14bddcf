"""Whole gradings of ranks that run at the same time and talk over loopback."""

from pathlib import Path

import pytest

from grader import evaluate, session
from grader.assignment import load
from grader.check import bound
from grader.check.finding import State
from grader.contract import Mode, Report, Target, Verdict
from grader.hardware.profile import Hardware, Rates
from grader.sandbox import registry
from tests.grader.session import reduce
from tests.grader.session.scale import SEED, job


def grade(tmp_path: Path, source: str, mode: Mode, *, once: bool = False) -> Report:
    assignment = load(reduce.write(tmp_path))
    files = {"solution.py": source.encode()}
    rates = Rates(score=1e9, ceiling=1.25e9, measured=1e9)
    machine = Hardware(
        hardware="cpu",
        name="made up",
        kind="cpu",
        interval_target=1e9,
        dram=rates,
        llc_bytes=1 << 20,
        calibrated="2026-01-01T00:00:00Z",
    )
    return session.grade(
        job(assignment, files, mode),
        assignment,
        files,
        backend=registry.choose("bubblewrap"),
        hardware=machine,
        emit=lambda _event: None,
        seed=SEED,
        node="here",
        once=once,
    )


def test_the_reference_is_graded_end_to_end(tmp_path: Path) -> None:
    report = grade(tmp_path, reduce.REFERENCE, Mode.GRADE)
    assert report.verdict is Verdict.ACCEPTED, (report.message, report.staff)
    assert [test.verdict for test in report.tests] == [Verdict.ACCEPTED] * 3
    assert report.hidden is not None
    assert report.hidden.passed
    assert [timed.case for timed in report.timed] == ["large-two", "large-four"]
    for timed in report.timed:
        assert timed.measure is not None
        assert timed.measure.bound_by == "dram"
        assert timed.measure.bound is not None
        assert timed.fraction == pytest.approx(timed.measure.bound / timed.measure.value)
        assert len(timed.rounds) >= 11
    assert report.score is not None
    assert report.score.fraction is not None
    assert report.score.ranked is False  # the made-up profile has no constant c


def test_its_bound_counts_what_all_ranks_read_and_write(tmp_path: Path) -> None:
    assignment = load(reduce.write(tmp_path))
    findings = bound.check(assignment, evaluate.evaluate(assignment), "cpu")
    assert findings
    assert {finding.state for finding in findings} == {State.HOLDS}, findings


def test_a_device_is_told_that_such_ranks_do_not_run_there_yet(tmp_path: Path) -> None:
    folder = reduce.write(tmp_path)
    toml = folder / "assignment.toml"
    toml.write_text(toml.read_text("utf-8").replace('hardware = "cpu"', 'hardware = "h200"'), "utf-8")
    assignment = load(folder)
    files = {"solution.py": reduce.NAIVE.encode()}
    report = session.grade(
        job(assignment, files, Mode.TEST, target=Target(hardware="h200")),
        assignment,
        files,
        backend=registry.choose("bubblewrap"),
        hardware=None,
        emit=lambda _event: None,
        seed=SEED,
    )
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "unsupported_kind")


def test_the_naive_solution_is_right_too(tmp_path: Path) -> None:
    report = grade(tmp_path, reduce.NAIVE, Mode.GRADE, once=True)
    assert report.verdict is Verdict.ACCEPTED, (report.message, report.staff)
