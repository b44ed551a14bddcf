"""A worker's Reports on disk: what stays, for how long, and what goes."""

import os
import time
from pathlib import Path

import pytest
import structlog

from grader.contract import JobSpec, Mode, Report, SourceFile, Target
from grader.node.failure import grader_error
from grader.node.spool import KEPT_SECONDS, Spool

DAY = 86400.0


def _job(number: int) -> JobSpec:
    return JobSpec(
        submission=f"s{number}", attempt=1, token=f"token-of-attempt-{number}", mode=Mode.TEST,
        assignment="kernels/add-rmsnorm", bundle="0" * 64,
        files=(SourceFile(name="solution.py", sha256="0" * 64, size=1),), target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    )  # fmt: skip


def _report(number: int, cause: str = "no matter") -> Report:
    return grader_error(_job(number), "node", "judge_failed", cause, started=1.0)


def _age(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    for path in folder.iterdir():
        os.utime(path, (then, then))


def test_what_was_saved_stays_until_it_is_removed_and_each_run_finds_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    assert (list(spool.pending()), spool.count(), spool.find(_job(1))) == ([], 0, None)
    saved = [spool.save(_report(number)) for number in (1, 2)]
    for found in (spool, Spool(tmp_path / "spool")):
        assert set(found.pending()) == set(saved)
        assert found.count() == 2
        assert found.find(_job(1)) == saved[0]
    saved[0].remove()
    saved[0].remove()
    assert list(spool.pending()) == [saved[1]]
    assert spool.find(_job(1)) is None


def test_a_report_that_nobody_confirms_is_kept_for_a_week(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    saved = spool.save(_report(1))
    assert KEPT_SECONDS == 7 * DAY
    _age(tmp_path / "spool", 7 * DAY - 60)
    assert list(spool.pending()) == [saved]
    _age(tmp_path / "spool", 7 * DAY + 60)
    assert list(spool.pending()) == []
    assert spool.count() == 0


def test_the_same_attempt_replaces_its_report_and_what_cannot_be_read_goes(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.save(_report(1))
    saved = spool.save(_report(1, "another cause"))
    assert list(spool.pending()) == [saved]
    (tmp_path / "spool" / "half.json").write_text(saved.text[:100])
    (tmp_path / "spool" / "bytes.json").write_bytes(b"\xff\x00")
    assert list(spool.pending()) == [saved]
    assert [path.suffix for path in (tmp_path / "spool").iterdir()] == [".json"]


def test_a_crash_while_a_report_is_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut is worse than a full disk: nothing is renamed that is not on the disk."""
    spool = Spool(tmp_path / "spool")
    saved = spool.save(_report(1))

    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("grader.node.spool.os.fsync", full)
    with structlog.testing.capture_logs() as said:
        new = spool.save(_report(1, "another cause"))
    assert [line["event"] for line in said] == ["report not spooled"]
    assert new.text != saved.text  # It can still be sent.
    assert list(spool.pending()) == [saved]
