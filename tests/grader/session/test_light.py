"""Times below the bound: nobody is accused by a calibration that was made in a bad minute."""

from pathlib import Path

import pytest

from grader.contract import FailureClass, Mode, Verdict
from grader.hardware import calibrate, profile
from grader.hardware.profile import Calibration, CoreRates, cpu_model
from grader.judge import cores
from tests.grader.session.scale import Grade, cpp, hardware


@pytest.fixture
def slow_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A calibration from a time when this machine was so busy that it moved 24 MB/s: the file it lies in."""
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path / "home"))
    rate = 2.4e7
    row = CoreRates(dram=rate, units={"fp32": rate}, fastest={"dram": rate, "fp32": rate})
    count = len(cores.choose().candidate)
    calibration = Calibration(
        hardware="cpu",
        name=cpu_model(),
        calibrated="2026-01-01T00:00:00+00:00",
        candidate_cores=count,
        by_cores={count: row},
        overhead_seconds={"function": 1e-5, "function.median": 2e-5},
    )
    with calibrate.alone():
        return calibrate.store(calibration)


def test_a_machine_faster_than_its_calibration_accuses_nobody(grade: Grade, slow_once: Path) -> None:
    report = grade(cpp(), mode=Mode.GRADE, hardware=hardware())
    assert report.verdict is Verdict.UNSTABLE_TIMING
    assert report.failure_class is FailureClass.INFRASTRUCTURE
    assert report.evidence == ()
    (timed,) = report.timed
    assert timed.message is not None
    assert timed.message.code == "stale_ceiling"
    assert report.environment.yardstick is not None
    # What was better is kept: the next grading has a true ceiling.
    raised = profile.load("cpu")
    assert raised.dram is not None
    assert raised.dram.score > 1e8
    assert slow_once.exists()


@pytest.mark.usefixtures("slow_once")
def test_what_no_ceiling_explains_is_faster_than_light(grade: Grade, folder: Path) -> None:
    path = folder / "task.py"
    honest = path.read_text("utf-8")
    path.write_text(honest.replace("dram_bytes=8 * elements", "dram_bytes=8e6 * elements"), "utf-8")
    report = grade(cpp(), mode=Mode.GRADE, hardware=hardware())
    assert report.verdict is Verdict.FASTER_THAN_LIGHT, report.message
    (evidence,) = report.evidence
    assert evidence.kind == "below_ceiling_bound"
    assert evidence.measured is not None
    assert evidence.limit is not None
    # The limit is what this machine was found to be able to do just then, not what was stored.
    assert evidence.measured < evidence.limit < 8e6 * 16 * 256 / 1e8


def test_nobody_is_accused_where_the_ceilings_cannot_be_measured(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path / "empty"))
    report = grade(cpp(), mode=Mode.GRADE, hardware=hardware())
    assert report.verdict is Verdict.UNSTABLE_TIMING
