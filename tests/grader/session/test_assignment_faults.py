"""Faults of an assignment: found before any code of the submission runs, and never the student's."""

from pathlib import Path
from typing import Any

import pytest

from grader.contract import Event, Mode, Phase, Target, Verdict
from grader.judge import authored, correctness, supervisor
from tests.grader.session.scale import PYTHON, Grade, cpp, hardware


def test_an_oracle_fails_before_any_code_of_the_submission_runs(grade: Grade, folder: Path) -> None:
    source = (folder / "task.py").read_text()
    wrong = source.replace('return {"y": inputs["x"].double() * 2}', 'return {"y": inputs["x"][:1].double()}')
    (folder / "task.py").write_text(wrong)
    events: list[Event] = []
    report = grade(cpp("*(volatile int *)8 = 1;"), events=events)
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "assignment_fault")
    assert report.tests == ()
    assert Phase.PUBLIC not in {event.phase for event in events}


def test_the_oracle_is_rehearsed_for_each_layout_and_the_largest_timed_case(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "task.py"
    tensor = 'Tensor("x", "float32", shape(params), "in")'
    assert tensor in path.read_text("utf-8")
    strided = tensor[:-1] + ', strides=(params["columns"] + params.get("pad", 0), 1))'
    either = f"{strided} if 'pad' in params else {tensor}"
    path.write_text(path.read_text("utf-8").replace(tensor, either), "utf-8")
    toml = (folder / "assignment.toml").read_text("utf-8")
    at = toml.index("[points]")
    more = "".join(
        f'[[cases]]\nid = "{name}"\npart = "kernel"\nrole = "{role}"\nparams = {{ {params} }}\n'
        "tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }\n"
        for name, role, params in (
            ("again", "test", "rows = 4, columns = 4"),
            ("cut", "test", "rows = 4, columns = 4, pad = 3"),
            ("cut-again", "test", "rows = 5, columns = 4, pad = 1"),
            ("widest", "timed", "rows = 32, columns = 256"),
        )
    )
    (folder / "assignment.toml").write_text(toml[:at] + more + toml[at:], "utf-8")
    seen: list[tuple[str, bool]] = []
    rehearse = correctness.rehearse

    def watched(task: Any, case: Any, seed: int, *, watch: Any, compared: bool = True) -> None:
        seen.append((case.id, compared))
        rehearse(task, case, seed, watch=watch, compared=compared)

    monkeypatch.setattr(correctness, "rehearse", watched)
    events: list[Event] = []
    report = grade({"solution.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=hardware(), once=True)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert seen == [("tiny", True), ("cut", True), ("widest", False)]
    seen.clear()
    path.write_text(
        path.read_text("utf-8").replace(
            'return {"y": inputs["x"].double() * 2}',
            'assert "pad" not in params\n    return {"y": inputs["x"].double() * 2}',
        ),
        "utf-8",
    )
    report = grade(cpp("*(volatile int *)8 = 1;"), events=events)
    assert report.verdict is Verdict.ASSIGNMENT_ERROR
    assert Phase.PUBLIC not in {event.phase for event in events}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('return {"y": inputs["x"].double() * 2}', "raise KeyError('lost')", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return {}", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return {'y': inputs['x'][:1].double()}", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return [1]", "oracle"),
        ('slot["x"].fill_(seed % 7)', "slot['nothing'].fill_(1)", "fill"),
        ("from .shapes import shape", "raise OSError('no such thing')", "task.py"),
        ('Tensor("y", "float32", shape(params), "out")', "Tensor('x', 'float32', (1,), 'out')", "tensors"),
        ('return {"y": inputs["x"].double() * 2}', "raise SystemExit(0)", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "raise KeyboardInterrupt", "oracle"),
        ("from .shapes import shape", "raise KeyboardInterrupt", "task.py"),
        (
            'Tensor("y", "float32", shape(params), "out")',
            "Tensor('y', 'float32', (1 << 31,), 'out')",
            "tensors",
        ),
        ("fill, oracle, cost)", "fill, oracle, cost, lambda p: {'n': 1 << 63})", "scalars"),
    ],
)
def test_the_assignments_faults_are_not_the_students(
    grade: Grade, folder: Path, old: str, new: str, what: str
) -> None:
    source = (folder / "task.py").read_text()
    assert old in source
    (folder / "task.py").write_text(source.replace(old, new))
    report = grade(cpp())
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "assignment_fault")
    assert what in report.message.en
    assert report.staff is not None
    assert "task.py" in report.staff.traceback
    assert "Traceback" not in report.for_student().model_dump_json()


def test_a_hint_that_ends_programs_is_left_out(grade: Grade, folder: Path) -> None:
    source = (folder / "task.py").read_text()
    hint = "fill, oracle, cost, explain=lambda *_: exec('raise SystemExit(0)'))"
    (folder / "task.py").write_text(source.replace("fill, oracle, cost)", hint))
    report = grade(cpp("return 0;"))
    assert report.verdict is Verdict.WRONG_ANSWER


def test_an_oracle_that_hangs_ends_the_grading(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authored, "SECONDS", 0.5)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.5)
    source = (folder / "task.py").read_text()
    hang = "import threading; threading.Event().wait(20); return {}"
    (folder / "task.py").write_text(source.replace('return {"y": inputs["x"].double() * 2}', hang))
    report = grade(cpp())
    assert report.verdict is Verdict.ASSIGNMENT_ERROR
    assert "oracle" in report.message.en


def test_an_assignment_that_is_not_for_this_machine(grade: Grade) -> None:
    report = grade(cpp(), target=Target(hardware="b200"))
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "no_target")
    assert "h200" in report.message.en
