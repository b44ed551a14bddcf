"""Calibration: real measurements, the best kept, other machines refused, nothing half written."""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from grader import sol
from grader.cli import calibrate as cli
from grader.contract import Verdict
from grader.hardware import calibrate as calibration
from grader.hardware import ceilings, profile
from grader.hardware.ceilings import Ceilings
from grader.hardware.profile import Calibration, CoreRates, HardwareError
from grader.judge import cores, spread
from grader.judge.failure import CandidateFailure
from grader.messages import text
from grader.task import Cost


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path))
    return tmp_path / "hardware"


@pytest.fixture(scope="module")
def first() -> Ceilings:
    """One short real measurement of one core, in a process of its own as `calibrate` makes it."""
    cpus = [min(os.sched_getaffinity(0))]
    return calibration.measure_cores(cpus, 0.3, None)


def test_a_core_copies_and_multiplies(first: Ceilings) -> None:
    assert set(first.best) == {"torch_copy", "matmul"}
    # Any machine of this century, and none yet: what is checked is the unit.
    assert 1e8 < first.best["torch_copy"] < 1e12
    assert 1e8 < first.best["matmul"] < 1e13
    assert all(first.median[name] <= first.best[name] for name in first.best)
    assert set(first.undisturbed) == set(first.best)


def test_the_kernels_in_cpp_do_what_they_are_timed_for(tmp_path: Path) -> None:
    import torch

    library = ceilings.build(tmp_path)
    assert library is not None, "g++ is needed to test the kernels"
    native = ceilings.load(library)
    source = torch.randint(0, 256, (1 << 20,), dtype=torch.uint8)
    target = torch.zeros_like(source)
    native.ceiling_copy(target.data_ptr(), source.data_ptr(), source.nbytes)
    assert torch.equal(target, source)
    words = source.view(torch.int64).tolist()
    expected = 0
    for word in words:
        expected ^= word & (1 << 64) - 1
    assert native.ceiling_read(source.data_ptr(), source.nbytes) == expected


def test_a_calibration_prices_costs_and_keeps_what_was_better_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "QUICK_SESSIONS", 2)  # A minute less: test_spread measures more of them.
    monkeypatch.setattr(calibration, "QUICK_ROUNDS", 20)
    candidate = len(cores.choose().candidate)
    before = CoreRates(dram=9e14, units={"fp32": 1.0})
    stored(home, by_cores={candidate: before, 999: before})
    outcome = calibration.calibrate(quick=True)
    kept = outcome.calibration.by_cores
    assert kept[candidate].dram == 9e14
    assert kept[candidate].units["fp32"] > 1e8
    assert kept[999] == before
    hardware = profile.load("cpu")
    assert outcome.path == home / "cpu.json"
    assert hardware.calibrated == outcome.calibration.calibrated
    assert hardware.cores == outcome.calibration.candidate_cores
    found = sol.bound(Cost(operations={"fp32": 1e6}, dram_bytes=1e6), hardware)
    assert 0 < sol.bound(Cost(dram_bytes=1e6), hardware, rates="ceiling").seconds < found.seconds
    assert not list(home.glob(".calibration-*"))
    assert hardware.overhead_seconds or any("constant" in remark.code for remark in outcome.remarks)


def test_core_counts_have_powers_of_two_the_candidates_and_all() -> None:
    assert calibration.core_counts(1, 2) == [1, 2]
    assert calibration.core_counts(11, 12) == [1, 2, 4, 8, 11, 12]
    assert calibration.core_counts(1, 1) == [1]


def test_the_best_of_all_runs_is_kept() -> None:
    good = Ceilings(
        best={"torch_copy": 2e10, "copy": 4e10, "read": 5e10, "matmul": 1e11, "fma": 9e10},
        median={},
        undisturbed={"copy": 4.1e10, "read": 5.1e10, "matmul": 1.1e11},
        bursts={},
    )
    noisy = Ceilings(
        best={"torch_copy": 1e10, "copy": 1e10, "read": 1e10, "matmul": 2e11, "fma": 2e11},
        median={},
        undisturbed={"copy": 4e10, "fma": 3e11},
        bursts={},
    )
    row = calibration.best_row(calibration.best_row(None, good), noisy)
    assert row == CoreRates(dram=4e10, units={"fp32": 2e11}, fastest={"dram": 5.1e10, "fp32": 3e11})


def test_a_busy_machine_lowers_the_light_but_not_the_ceiling() -> None:
    busy = Ceilings({"torch_copy": 1e10, "matmul": 5e10}, {}, {"torch_copy": 2e10, "matmul": 1e11}, {})
    row = calibration.best_row(None, busy)
    assert row == CoreRates(dram=1e10, units={"fp32": 5e10}, fastest={"dram": 2e10, "fp32": 1e11})


def stored(home: Path, **changes: object) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    values = {"hardware": "cpu", "name": profile.cpu_model(), "calibrated": "2026-01-01T00:00:00+00:00"}
    path = home / "cpu.json"
    path.write_text(Calibration.model_validate(values | changes).model_dump_json(), "utf-8")
    return path


def test_another_cpus_calibration_is_refused_before_anything_is_measured(home: Path) -> None:
    before = stored(home, name="Some other CPU").read_bytes()
    with pytest.raises(HardwareError, match=r"another CPU \(Some other CPU\).*--force"):
        calibration.calibrate(quick=True)
    assert (home / "cpu.json").read_bytes() == before


def test_two_calibrations_at_once_are_refused(home: Path) -> None:
    home.mkdir(parents=True)
    with (home / ".calibrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(HardwareError, match="another calibration is running"):
            calibration.calibrate(quick=True)


def test_a_disk_that_is_full_is_told_and_leaves_what_was_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir(parents=True)
    stored = calibration.store(Calibration(hardware="cpu", name="a", calibrated="then"))

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HardwareError, match="cannot be written"):
        calibration.store(Calibration(hardware="cpu", name="b", calibrated="now"))
    assert list(home.iterdir()) == [stored]
    assert Calibration.model_validate_json(stored.read_text("utf-8")).name == "a"


def test_a_machine_without_processes_is_not_taken_for_another_calibration(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_words: object, **_options: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(calibration, "_rows", refused)
    with pytest.raises(HardwareError, match="could not be measured"):
        calibration.calibrate()


def test_a_program_of_ours_that_a_busy_machine_cannot_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_words: object) -> None:
        raise CandidateFailure(Verdict.TIME_LIMIT, text("waited_for"))

    monkeypatch.setattr(spread, "measure", late)
    with pytest.raises(HardwareError, match="could not time a program of its own"):
        calibration._spread(quick=True)


def test_a_measuring_process_that_dies_is_told() -> None:
    with pytest.raises(HardwareError, match="measuring 1 cores failed"):
        calibration.measure_cores([4095], 0.1, None)


def test_the_command_says_what_is_wrong_and_exits_three(home: Path) -> None:
    stored(home, name="Some other CPU")
    app = Typer()
    app.command()(cli.command)
    result = CliRunner().invoke(app, ["--quick"])
    assert result.exit_code == 3
    assert "Some other CPU" in result.stderr


def test_a_class_that_does_not_exist_is_a_matter_of_usage() -> None:
    app = Typer()
    app.command()(cli.command)
    result = CliRunner().invoke(app, ["--hardware", "nope"])
    assert result.exit_code == 2
    assert "nope" in result.stderr


def test_a_signal_ends_a_calibration_and_leaves_nothing(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = ["env", "--default-signal=TERM", str(Path(sys.executable).with_name("solmark")), "calibrate"]
    environment = {**os.environ, "TMPDIR": str(scratch), "SOLMARK_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        # Not before: g++, which comes first, leaves what it was killed over.
        while b"grader.hardware.ceilings" not in _children(process.pid):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert list(scratch.iterdir()) == []


def _children(pid: int) -> bytes:
    """The command lines of the processes that its first thread has started."""
    lines = b""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        with contextlib.suppress(OSError):
            lines += Path(f"/proc/{child}/cmdline").read_bytes()
    return lines
