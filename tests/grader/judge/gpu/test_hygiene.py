"""A device is held by one session at a time, watched while it works, and left clean or set aside."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.judge.gpu import device as devices
from grader.judge.gpu.device import Device
from grader.judge.gpu.driver import CudaError
from grader.sandbox.base import SandboxError

GIB = 1 << 30
OTHER_PID = 999_999_999


class Library:
    """NVIDIA's management library as far as the judge asks it, with a state that tests set."""

    NVMLError = RuntimeError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self) -> None:
        self.used = 5 * GIB
        self.pids: list[int] = []
        self.sm, self.temperature, self.reasons = 1980, 40, 0

    def nvmlDeviceGetMemoryInfo(self, _handle: Any) -> Any:  # noqa: N802
        return SimpleNamespace(used=self.used, total=140 * GIB)

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: Any) -> Any:  # noqa: N802
        return [SimpleNamespace(pid=pid) for pid in (*self.pids, os.getpid())]

    def nvmlDeviceGetClockInfo(self, _handle: Any, kind: int) -> int:  # noqa: N802
        return self.sm if kind == self.NVML_CLOCK_SM else 3201

    def nvmlDeviceGetTemperature(self, _handle: Any, _kind: int) -> int:  # noqa: N802
        return self.temperature

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _handle: Any) -> int:  # noqa: N802
        return self.reasons


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(devices, "_nvml", lambda: made)
    monkeypatch.setattr(devices, "SETTLE_SECONDS", 0.2)
    return made


def made_of(folder: Path) -> Device:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    return Device(None, lock, "GPU-test", (), 140 * GIB, "NVIDIA H200")


@pytest.fixture
def device(library: Library, tmp_path: Path) -> Iterator[Device]:
    made = made_of(tmp_path)
    yield made
    made.close()


def answering(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Have the device answer so: there is none on this machine."""

    def arange(*_arguments: Any, **_options: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return torch.tensor(answer)

    monkeypatch.setattr(torch, "arange", arange)


def test_a_clean_device_is_left(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, list(range(1024)))
    device.check_clean()


def test_a_process_that_is_left_sets_the_device_aside(device: Device, library: Library) -> None:
    library.pids = [OTHER_PID]
    with pytest.raises(SandboxError, match=rf"processes \[{OTHER_PID}\] on the device: it is set aside"):
        device.check_clean()


def test_memory_that_does_not_come_back_sets_the_device_aside(device: Device, library: Library) -> None:
    library.used += 9 * GIB
    with pytest.raises(SandboxError, match=r"MiB on the device: it is set aside"):
        device.check_clean()


@pytest.mark.parametrize(
    ("answer", "message"),
    [(RuntimeError("unspecified launch failure"), "does not answer any more"), ([1, 2], "computes wrongly")],
)
def test_a_device_that_is_lost_or_wrong_is_said_so(
    device: Device, monkeypatch: pytest.MonkeyPatch, answer: Any, message: str
) -> None:
    answering(monkeypatch, answer)
    with pytest.raises(CudaError, match=message):
        device.check_clean()


def test_who_was_there_before_is_not_of_the_session(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.pids = [OTHER_PID]
    device = made_of(tmp_path)
    answering(monkeypatch, list(range(1024)))
    device.check_clean()
    device.close()


def test_the_worst_of_all_readings_is_reported(device: Device, library: Library) -> None:
    for sm, temperature, reasons in ((1980, 41, 0), (1410, 67, 0x4), (1980, 52, 0x20)):
        library.sm, library.temperature, library.reasons = sm, temperature, reasons
        device.note()
    reading = device.noted()
    assert reading.clocks == {"sm": 1410e6, "memory": 3201e6}
    assert reading.temperature == 67.0
    assert reading.throttled == ("software power cap", "software thermal slowdown")


def test_a_ring_leaves_the_judge_what_it_needs(device: Device) -> None:
    assert device.ring_bytes(GIB) == int(0.6 * 140 * GIB)
    assert device.ring_bytes(100 * GIB) < 30 * GIB


def test_one_session_at_a_time_among_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    lock = devices._locked("GPU-test")
    code = (
        "import sys, tempfile; tempfile.gettempdir = lambda: sys.argv[1]\n"
        "from grader.judge.gpu import device\n"
        "try: device._locked('GPU-test')\n"
        "except device.SandboxError as error: print(error)\n"
    )

    def other() -> str:
        command = [sys.executable, "-c", code, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "another session holds the device" in other()
    os.close(lock)
    assert other() == ""
