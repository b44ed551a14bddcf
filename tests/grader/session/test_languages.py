"""Gradings in the languages that are not compiled."""

from pathlib import Path

import pytest

from grader.contract import Language, Mode, Verdict
from tests.grader.session.scale import PYTHON, TRITON, Grade, add_cases, hardware


def test_python_is_graded_and_timed(grade: Grade) -> None:
    report = grade({"mine.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=hardware())
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert [test.verdict for test in report.tests] == [Verdict.ACCEPTED] * 2
    assert report.environment.torch
    assert report.timed[0].calls >= 1


def test_triton_is_checked_but_not_timed_on_a_cpu(grade: Grade, folder: Path) -> None:
    add_cases(folder, ["half"], 'rows = 2, columns = 3, kind = "bfloat16"')
    report = grade({"solution.py": TRITON.encode()}, mode=Mode.GRADE, hardware=hardware())
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.language is Language.TRITON
    verdicts = {test.case: (test.verdict, test.message and test.message.code) for test in report.tests}
    assert verdicts["tiny"] == (Verdict.ACCEPTED, None)
    assert verdicts["half"] == (None, "triton_bf16")
    (timed,) = report.timed
    assert timed.verdict is None
    assert report.score is not None
    assert report.score.fraction is None
    assert report.score.fraction_reason is not None
    assert report.score.fraction_reason.code == "triton_not_timed"
    assert report.score.points == pytest.approx(40.0)
