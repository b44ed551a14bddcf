"""What a judge's process says is read as a Report is measured, whatever the letters in it."""

import sys
from pathlib import Path

import pytest

from grader import contract
from grader.contract import REPORT_BYTES, Environment, Mode, Report, Target, Text, Verdict
from grader.node import judge

SAYS = "import json, sys; print(json.dumps({'report': json.load(open(sys.argv[1]))}))"
"""As `grader.judge_process` writes its lines: nothing but ASCII in them."""
CHARS = 16384


def _report(letter: str) -> Report:
    """As long as a Report may be, nearly all of it what a submission printed."""
    report = Report(
        submission="s1", attempt=1, token="t" * 32, mode=Mode.TEST, assignment="a/b", bundle="0" * 64,
        target=Target(hardware="cpu"), verdict=Verdict.WRONG_ANSWER, message=Text(code="x", en="", zh=""),
        started=1e-7, seconds=1e16,
        environment=Environment(
            judge_version="", hardware="cpu", hardware_name="", sandbox="bubblewrap", freezer="none"
        ),
    )  # fmt: skip
    tests: tuple[contract.TestResult, ...] = ()
    left = REPORT_BYTES - len(report.model_dump_json())
    while left > CHARS * 4:
        more = contract.TestResult(
            case="c", part="p", verdict=Verdict.WRONG_ANSWER, stdout=letter * CHARS, seconds=1e-7
        )
        tests += (more,)
        left = REPORT_BYTES - len(report.model_copy(update={"tests": tests}).model_dump_json().encode())
    assert left >= 0
    last = tests[-1].model_copy(update={"stderr": letter * min(CHARS, left // len(letter.encode()))})
    return report.model_copy(update={"tests": (*tests[:-1], last)})


@pytest.mark.parametrize("letter", ["a", "é", "中", "😀", '"'])
def test_a_report_that_fits_is_read_whatever_a_submission_printed(tmp_path: Path, letter: str) -> None:
    report = _report(letter)
    size = len(report.model_dump_json().encode())
    assert REPORT_BYTES - 4 * CHARS < size <= REPORT_BYTES
    said = tmp_path / "report.json"
    said.write_text(report.model_dump_json(), "utf-8")
    found = judge.run(
        [sys.executable, "-c", SAYS, str(said)], b"", seconds=60, on_event=print, interrupted=lambda: None,
        lock=tmp_path / "lock",
    )  # fmt: skip
    assert found == report
