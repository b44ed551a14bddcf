"""What staff look at before it is ranked: times beyond the measured ceiling, gains that stand out."""

import json
from pathlib import Path

import pytest

from grader.contract import Mode, Report, Verdict
from grader.hardware import calibrate
from grader.hardware.profile import Calibration, CoreRates, Hardware, Rates, cpu_model
from grader.judge import cores
from tests.grader.session.scale import SLOW, Grade, cpp, hardware

HEAD = "#include <unistd.h>\n"


def _measured(rate: float) -> Hardware:
    """The made-up machine, of which so many bytes a second were measured and much more is possible."""
    rates = Rates(score=2.4e7, ceiling=2.4e9, measured=rate)
    overhead = {"function": 1e-5, "function.median": 2e-5}
    return hardware().model_copy(
        update={"units": {"fp32": rates}, "dram": rates, "overhead_seconds": overhead}
    )


def _accepted(report: Report) -> Report:
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.score is not None
    assert report.score.fraction is not None
    assert report.score.points is not None
    return report


def _home(folder: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None) -> None:
    """What this machine's stored calibration says; None: there is none, and it cannot be measured again."""
    monkeypatch.setenv("SOLMARK_HOME", str(folder / "home"))
    if rate is None:
        return
    count = len(cores.choose().candidate)
    row = CoreRates(dram=rate, units={"fp32": rate}, fastest={"dram": rate, "fp32": rate})
    calibration = Calibration(
        hardware="cpu",
        name=cpu_model(),
        calibrated="2026-01-01T00:00:00+00:00",
        candidate_cores=count,
        by_cores={count: row},
    )
    with calibrate.alone():
        calibrate.store(calibration)


def test_a_time_beyond_the_measured_ceiling_waits_for_staff(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _home(tmp_path, monkeypatch, None)
    report = _accepted(grade(cpp(SLOW, HEAD), mode=Mode.GRADE, hardware=_measured(1.2e7)))
    score = report.score
    assert score is not None
    assert (score.ranked, score.review) == (False, True)
    assert score.unranked_reason is not None
    assert score.unranked_reason.code == "staff_look"
    (evidence,) = report.evidence
    assert (evidence.kind, evidence.case, evidence.unit) == ("above_measured_ceiling", "wide", "s")
    assert evidence.limit is not None
    assert evidence.limit == pytest.approx(8 * 16 * 256 / 1.2e7 / 1.02)
    assert evidence.measured is not None
    assert evidence.measured < evidence.limit
    assert "above_measured_ceiling" not in report.for_student().model_dump_json()


def test_a_machine_that_turns_out_faster_sends_nobody_to_staff(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _home(tmp_path, monkeypatch, 1.2e7)
    report = _accepted(grade(cpp(SLOW, HEAD), mode=Mode.GRADE, hardware=_measured(1.2e7)))
    assert report.score is not None
    assert (report.score.ranked, report.score.review) == (True, False)
    assert report.evidence == ()
    yardstick = report.environment.yardstick
    assert yardstick is not None
    assert yardstick.copy_bytes_per_second is not None
    assert yardstick.copy_bytes_per_second > 1e8  # What it can really do, and kept for the next grading.
    stored = json.loads((tmp_path / "home" / "hardware" / "cpu.json").read_text("utf-8"))
    assert stored["by_cores"][str(len(cores.choose().candidate))]["dram"] > 1e8


def test_a_gain_in_one_case_alone_waits_for_staff(grade: Grade, folder: Path) -> None:
    path = folder / "assignment.toml"
    toml = path.read_text("utf-8")
    wide = toml[toml.index('[[cases]]\nid = "wide"') : toml.index('[[cases]]\nid = "cpu-python"')]
    more = "".join(
        wide.replace('"wide"', f'"{name}"').replace("rows = 16", f"rows = {rows}")
        for name, rows in (("odd", 8), ("high", 17))
    )
    milestones = "".join(
        f'[[targets.milestones]]\nname = "{name}"\nfraction = {fraction}\ncredit = {credit}\n'
        f'measurement = "results:{name}"\n'
        f"cases = {{ wide = {fraction}, odd = {fraction}, high = {fraction} }}\n"
        for name, fraction, credit in (("naive", 0.1, 0.1), ("best", 0.5, 1.0))
    )
    toml = toml.replace("[points]", more + "[points]").replace(
        "primary = true\n", f"primary = true\n\n{milestones}"
    )
    path.write_text(toml, "utf-8")
    quick = "usleep(rows == 8 && columns == 256 ? 300 : 2000);"
    report = _accepted(grade(cpp(quick, HEAD), mode=Mode.GRADE, hardware=_measured(2.4e9)))
    (evidence,) = report.evidence
    assert (evidence.kind, evidence.case, evidence.unit) == ("uneven_gain", "odd", "1")
    assert evidence.measured is not None
    assert evidence.limit is not None
    assert evidence.measured > evidence.limit > 0
    assert report.score is not None
    assert (report.score.ranked, report.score.review) == (False, True)
    report = _accepted(grade(cpp(SLOW, HEAD), mode=Mode.GRADE, hardware=_measured(2.4e9)))
    assert report.evidence == ()
    assert report.score is not None
    assert report.score.ranked


def test_what_is_not_ranked_anyway_needs_no_look(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _home(tmp_path, monkeypatch, None)
    machine = _measured(1.2e7).model_copy(update={"overhead_seconds": {}})
    report = _accepted(grade(cpp(SLOW, HEAD), mode=Mode.GRADE, hardware=machine))
    assert report.evidence == ()
    assert report.score is not None
    assert (report.score.ranked, report.score.review) == (False, False)
    assert report.score.unranked_reason is not None
    assert report.score.unranked_reason.code == "not_calibrated"
