"""What a Report says, whole and cut, and to whom."""

import secrets
from pathlib import Path

import pytest

from grader import contract, session
from grader.assignment import load
from grader.contract import Event, Language, Mode, Phase, Report, Target, Verdict
from grader.judge import timed
from grader.messages import text
from grader.sandbox import registry
from tests.grader.session.scale import PYTHON, SEED, SLOW, Broken, Grade, cpp, hardware, job


def test_an_accepted_grading_says_everything(grade: Grade) -> None:
    events: list[Event] = []
    report = grade(cpp(SLOW, "#include <unistd.h>\n"), mode=Mode.GRADE, hardware=hardware(), events=events)
    assert (report.verdict, report.message.code) == (Verdict.ACCEPTED, "accepted_timed"), report.message
    assert report.language is Language.CPP
    assert [(test.case, test.verdict) for test in report.tests] == [
        ("tiny", Verdict.ACCEPTED),
        ("cpu-python", None),  # not meant for C++
    ]
    assert report.tests[0].shapes == {"x": "float32[3, 5]", "y": "float32[3, 5]"}
    assert report.hidden == contract.HiddenResult(passed=True, cases=1)
    (timed,) = report.timed
    assert timed.measure is not None
    assert timed.measure.bound_by == "dram"
    assert timed.fraction == pytest.approx(timed.measure.bound / timed.measure.value)  # type: ignore[operator]
    assert report.score is not None
    assert report.score.fraction == pytest.approx(timed.fraction)
    assert report.score.correctness_points == pytest.approx(40.0)
    assert report.score.ranked is False  # the made-up profile has no constant c
    assert report.score.unranked_reason is not None
    assert report.build is not None
    assert report.build.command.startswith("g++")
    assert report.environment.sandbox == "bubblewrap"
    assert report.environment.node == "here"
    assert {time.phase for time in report.phases} == {
        Phase.PREPARE, Phase.BUILD, Phase.PUBLIC, Phase.TIMED, Phase.HIDDEN, Phase.SCORE
    }  # fmt: skip
    assert sum(time.seconds for time in report.phases) <= report.seconds
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.phase for event in events} == {time.phase for time in report.phases}
    assert not [event for event in events if event.phase is Phase.HIDDEN and event.case]


def test_without_a_calibration_times_are_shown_without_a_fraction(grade: Grade) -> None:
    profile = hardware().model_copy(update={"calibrated": None, "units": {}, "dram": None})
    report = grade(cpp(SLOW, "#include <unistd.h>\n"), mode=Mode.GRADE, hardware=profile)
    assert report.verdict is Verdict.ACCEPTED
    (timed,) = report.timed
    assert timed.measure is not None
    assert timed.measure.value > 0
    assert timed.fraction is None
    assert report.score is not None
    assert report.score.fraction is None
    assert report.score.fraction_reason is not None
    assert "solmark calibrate" in report.score.fraction_reason.en
    assert report.score.ranked is False


def test_a_replay_names_what_the_command_would_not_choose_by_itself(grade: Grade, folder: Path) -> None:
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace('languages = ["triton"]', 'languages = ["python"]'), "utf-8"
    )
    files = {"solution.py": b"import triton\n" + PYTHON.encode()}
    base = f"solmark grade kernels/scale solution.py --mode test --seed {SEED.hex()}"
    for language, target, more in (
        (None, "cpu", ""),
        (Language.TRITON, "cpu", ""),
        (Language.PYTHON, "cpu", " --language python"),
        (Language.PYTHON, "h200", " --hardware h200 --language python"),
    ):
        report = grade(files, language=language, target=Target(hardware=target))
        assert report.staff is not None
        assert report.staff.replay == base + more


@pytest.mark.parametrize(("found", "said"), [("no_freezer", "no_freezer"), ("one_core", "no_isolation")])
def test_no_freezer_is_said_before_any_other_reason(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, found: str, said: str
) -> None:
    monkeypatch.setattr(timed, "unranked", lambda *_: text(found))
    plain = registry.choose("plain")
    files = {"solution.py": PYTHON.encode()}
    report = grade(files, mode=Mode.GRADE, hardware=hardware(), backend=plain, once=True)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.score is not None
    assert report.score.unranked_reason is not None
    assert report.score.unranked_reason.code == said


def test_a_report_is_cut_to_what_the_wire_takes(grade: Grade) -> None:
    report = grade({"solution.py": b""})
    case = contract.TestResult(case="c", part="p", verdict=None, stdout="x" * 16384, stderr="y" * 16384)
    assert report.staff is not None
    staff = report.staff.model_copy(update={"hidden": (case,) * 30, "traceback": "z" * 65536})
    large = report.model_copy(update={"tests": (case,) * 60, "staff": staff})
    assert len(large.model_dump_json()) > contract.REPORT_BYTES
    cut = session.fit(large)
    assert contract.read(Report, cut.model_dump_json()) == cut
    assert session.fit(report) is report


def test_a_seed_of_any_length_is_taken(folder: Path) -> None:
    assignment = load(folder)
    files = {"solution.py": b""}
    for seed in (b"", b"x", secrets.token_bytes(33), None):
        report = session.grade(
            job(assignment, files, Mode.TEST),
            assignment,
            files,
            backend=Broken(),
            hardware=None,
            emit=lambda _event: None,
            seed=seed,
        )
        assert report.staff is not None
        assert len(bytes.fromhex(report.staff.seed)) == 16
