"""Hidden tests: one bit for the student, all for staff, and no time that tells more."""

from pathlib import Path

import pytest

from grader import contract
from grader.contract import Event, Mode, Phase, Verdict
from grader.judge.phases import hidden
from tests.grader.session.scale import SEED, Grade, cpp, hardware, set_hidden


@pytest.mark.parametrize("guard", ["if (rows > 3) return 0;", "if (rows > 3) __builtin_trap();"])
def test_a_hidden_failure_is_one_bit_for_the_student_and_all_for_staff(
    grade: Grade, folder: Path, guard: str
) -> None:
    set_hidden(folder, 'rows = { range = [4, 300] }, columns = { choice = [7, 64, 1031] }, kind = "plain"')
    report = grade(cpp(guard))
    assert (report.verdict, report.message.code) == (Verdict.WRONG_ANSWER, "hidden_failed")
    assert report.hidden == contract.HiddenResult(passed=False, cases=1)
    assert report.staff is not None
    (found,) = report.staff.hidden
    assert found.verdict in (Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR)
    assert 4 <= found.params["rows"] <= 300
    assert report.staff.seed == SEED.hex()
    assert report.staff.replay == f"solmark grade kernels/scale solution.cpp --mode test --seed {SEED.hex()}"
    again = grade(cpp(guard))
    assert again.staff is not None
    assert again.staff.hidden[0].params == found.params
    assert again.staff.hidden[0].first_wrong == found.first_wrong
    student = report.for_student().model_dump_json()
    for secret in (SEED.hex(), "drawn", '"plain"', str(found.params["columns"]) + "]"):
        assert secret not in student
    shown = report.for_student()
    assert Phase.HIDDEN not in {time.phase for time in shown.phases}
    assert shown.seconds == pytest.approx(sum(time.seconds for time in shown.phases))
    hidden_seconds = sum(time.seconds for time in report.phases if time.phase is Phase.HIDDEN)
    assert shown.seconds <= report.seconds - hidden_seconds
    assert shown.for_student() == shown


def test_marks_of_the_hidden_phase_are_few() -> None:
    marks = [hidden.mark(seconds / 10) for seconds in range(1, 2000)]
    assert sorted(set(marks)) == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 192.0, 256.0]
    assert all(mark >= seconds / 10 for seconds, mark in enumerate(marks, 1))


@pytest.mark.parametrize("guard", ["", "if (columns == 7) return 0;"])
def test_a_student_waits_for_a_mark_whatever_the_hidden_tests_find(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    set_hidden(folder, 'rows = 9, columns = 7, kind = "plain"')
    monkeypatch.setattr(hidden, "FIRST_MARK", 1.0)
    events: list[Event] = []
    report = grade(cpp(guard), mode=Mode.GRADE, hardware=hardware(), events=events, holds=True, once=True)
    assert report.hidden is not None
    assert report.hidden.passed is not bool(guard)
    spent = {time.step: time.seconds for time in report.phases if time.phase is Phase.HIDDEN}
    assert spent["hold"] > 0
    first, last = (event.time for event in events if event.phase in (Phase.HIDDEN, Phase.SCORE))
    assert last - first >= 0.99  # Wall clock; the hold goes by the monotonic one.
    assert "hold" not in {time.step for time in report.for_student().phases}


def test_a_students_copy_grades_without_hidden_cases(grade: Grade, folder: Path) -> None:
    (folder / "hidden" / "cases.toml").unlink()
    report = grade(cpp("if (rows > 3) return 0;"))
    assert report.verdict is Verdict.ACCEPTED
    assert report.hidden is None
