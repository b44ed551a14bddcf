"""Code that crashes: every case has its verdict, and nobody else is harmed."""

from pathlib import Path

import pytest

from grader.contract import Verdict
from tests.grader.session.scale import Grade, add_cases, cpp


def test_a_crash_is_reported_for_every_case_and_harms_nobody(grade: Grade, folder: Path) -> None:
    add_cases(folder, [f"case-{number}" for number in range(5)])
    report = grade(cpp("*(volatile int *)8 = 1;"))
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert "SIGSEGV" in report.message.en
    assert "SIGSEGV" in report.message.zh
    ran = [test for test in report.tests if test.verdict is not None]
    assert [test.verdict for test in ran] == [Verdict.RUNTIME_ERROR] * 4  # the first and three restarts
    assert report.hidden is None
    not_run = [test.message.code for test in report.tests if test.verdict is None and test.message]
    assert sorted(not_run) == ["not_for_language", "not_run_restarts", "not_run_restarts"]
    assert grade(cpp()).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    "line", ["torch.add(torch.cat([x, x]), 0, out=y)", "y.copy_(x.T)", "y.numpy()[:] = 2 * x.numpy()[:, :2]"]
)
def test_a_result_of_another_shape_is_told_the_shapes_of_the_outputs(grade: Grade, line: str) -> None:
    report = grade({"solution.py": f"import torch\n\n\ndef solve(x, y):\n    {line}\n".encode()})
    assert (report.verdict, report.tests[0].verdict) == (Verdict.RUNTIME_ERROR, Verdict.RUNTIME_ERROR)
    for said in (report.tests[0].message, report.message):
        assert said is not None
        assert "What you write into an output must have its shape; here: y float32[3, 5]." in said.en
        assert "形状相同；此处为：y float32[3, 5]。" in said.zh


def test_cases_after_a_crash_run_in_a_fresh_process(grade: Grade, folder: Path) -> None:
    add_cases(folder, ["one", "two"])
    crash_once = (
        "static int calls; if (rows == 3 && columns == 5) __builtin_trap(); if (calls++ > 1) return 9;"
    )
    report = grade(cpp(crash_once))
    verdicts = {test.case: test.verdict for test in report.tests}
    assert verdicts == {
        "tiny": Verdict.RUNTIME_ERROR,
        "one": Verdict.ACCEPTED,
        "two": Verdict.ACCEPTED,
        "cpu-python": None,
    }
