"""Assignments of several parts: a kernel, and a dialogue that is answered from a file of its own."""

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader import contract, session
from grader.assignment import load
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.sandbox import registry

KERNEL = b"""
#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        ((float *)t[1].data)[i] = 2 * ((const float *)t[0].data)[i];
    return 0;
}
"""
PLAN = b"def plan(n):\n    return n * (n + 1) // 2\n"

PARTS = """
[[parts]]
name = "sum"
kind = "dialogue"
file = "plan.py"
languages = ["python"]
weight = 3.0

[[cases]]
id = "sum-small"
part = "sum"
role = "test"
params = { n = 4 }

[[cases]]
id = "sum-priced"
part = "sum"
role = "timed"
params = { n = 9 }
"""

HIDDEN = """
[[cases]]
id = "sum-hidden"
part = "sum"
role = "test"
params = { n = { range = [50, 99] } }
"""

TASK = """
from grader.task import DialogueTask, Outcome, Raised


def episode(case, candidate, seed):
    n = case.params["n"]
    found = candidate.ask("plan", [n])
    if isinstance(found, Raised) or found < n * (n + 1) // 2:
        return Outcome(False, "too small", "太小")
    return Outcome(True, value=float(found), bound=n * (n + 1) / 2, quantity="sum", unit="1")


PARTS["sum"] = DialogueTask(episode, message_seconds=5.0)
"""

Grade = Callable[[Mapping[str, bytes]], Report]


@pytest.fixture
def grade(folder: Path) -> Grade:
    """Grade files against the small assignment with a second part."""
    toml = (folder / "assignment.toml").read_text("utf-8")
    toml = toml.replace("rows = 1024, columns = 4096", "rows = 8, columns = 8")
    (folder / "assignment.toml").write_text(toml + PARTS, "utf-8")
    for name, text in (("hidden/cases.toml", HIDDEN), ("task.py", TASK)):
        (folder / name).write_text((folder / name).read_text("utf-8") + text, "utf-8")

    def run(files: Mapping[str, bytes]) -> Report:
        assignment = load(folder)
        job = JobSpec(
            submission="s",
            attempt=1,
            token="t" * 32,
            mode=Mode.GRADE,
            assignment=assignment.id,
            bundle=assignment.digest,
            files=tuple(
                SourceFile(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
                for name, data in files.items()
            ),
            target=Target(hardware="cpu"),
            deadline=time.time() + 600,
        )
        report = session.grade(
            job,
            assignment,
            files,
            backend=registry.choose("bubblewrap"),
            hardware=None,
            emit=lambda _event: None,
            once=True,
        )
        return contract.read(Report, report.model_dump_json())

    return run


def test_both_parts_count(grade: Grade) -> None:
    report = grade({"kernel.cpp": KERNEL, "plan.py": PLAN})
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.language is contract.Language.CPP
    verdicts = {test.case: test.verdict for test in report.tests}
    assert verdicts == {"tiny": Verdict.ACCEPTED, "cpu-python": None, "sum-small": Verdict.ACCEPTED}
    assert report.hidden == contract.HiddenResult(passed=True, cases=2)
    timed = {one.case: one for one in report.timed}
    assert timed["sum-priced"].fraction == 1.0
    assert timed["sum-priced"].measure is not None
    assert timed["sum-priced"].measure.value == 45.0
    assert timed["wide"].verdict is Verdict.ACCEPTED  # audited once, not timed
    assert timed["wide"].measure is None
    assert report.score is not None
    assert report.score.correctness_points == pytest.approx(40.0)


def test_points_do_not_tell_which_part_failed_its_hidden_tests(grade: Grade) -> None:
    """The kernel fails alone, then the dialogue alone: their weights differ, what a student sees does not."""
    unseen = b"if (t[0].shape[1] > 8 || t[0].shape[1] == 7) return 0;"
    kernel = KERNEL.replace(b"    for", unseen + b"\n    for")
    plan = b"def plan(n):\n    return n * (n + 1) // 2 if n < 50 else 0\n"
    reports = [
        grade({"kernel.cpp": kernel, "plan.py": PLAN}),
        grade({"kernel.cpp": KERNEL, "plan.py": plan}),
    ]
    assert [report.hidden for report in reports] == [contract.HiddenResult(passed=False, cases=2)] * 2
    assert reports[0].score == reports[1].score
    assert reports[0].score is not None
    assert reports[0].score.points == 0.0
    # A part that was not handed in is not in the group.
    left_out = grade({"kernel.cpp": kernel}).score
    assert left_out is not None
    assert left_out.points == 0.0


def test_a_part_that_is_left_out_costs_its_own_weight_alone(grade: Grade) -> None:
    report = grade({"kernel.cpp": KERNEL})
    assert report.verdict is Verdict.ACCEPTED, report.message
    left = {test.case: test.message and test.message.code for test in report.tests if test.part == "sum"}
    assert left == {"sum-small": "not_handed_in"}
    assert report.score is not None
    assert report.score.correctness_points == pytest.approx(10.0)


def test_a_part_alone_is_no_submission(grade: Grade) -> None:
    report = grade({"plan.py": PLAN})
    assert (report.verdict, report.message.code) == (Verdict.BUILD_ERROR, "no_entry")


@pytest.mark.parametrize(
    ("plan", "verdict", "hidden"),
    [
        (b"def plan(n):\n    return 0\n", Verdict.WRONG_ANSWER, None),
        (b"def plan(n):\n    return 0 if n > 40 else n * (n + 1) // 2\n", Verdict.WRONG_ANSWER, False),
        (b"def plan(n):\n", Verdict.BUILD_ERROR, None),
        (b"import os\n\n\ndef plan(n):\n    os._exit(0)\n", Verdict.RUNTIME_ERROR, None),
    ],
)
def test_what_is_wrong_in_one_part_is_wrong(
    grade: Grade, plan: bytes, verdict: Verdict, hidden: bool | None
) -> None:
    report = grade({"kernel.cpp": KERNEL, "plan.py": plan})
    assert report.verdict is verdict, report.message
    assert (report.hidden and report.hidden.passed) is hidden
    assert report.score is not None
    assert report.score.performance_points == 0
    if hidden is False:
        assert "sum" not in report.for_student().message.en
