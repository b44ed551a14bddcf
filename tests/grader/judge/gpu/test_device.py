"""A device that is not there: the node's fault, said so, and never a hang."""

import hashlib
import time
from pathlib import Path

import pytest

from grader import assignment, session
from grader.contract import FailureClass, JobSpec, Mode, SourceFile, Target, Verdict
from grader.hardware import profile
from grader.judge.gpu import device
from grader.judge.prepare import on_device
from grader.sandbox import registry
from grader.sandbox.base import SandboxError

SOLUTION = Path(__file__).parents[4] / "reference" / "kernels" / "add-rmsnorm" / "naive.py"


@pytest.fixture(autouse=True)
def _no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_nvml", lambda: None)


def test_a_missing_device_is_a_sandbox_error() -> None:
    with pytest.raises(SandboxError, match="no CUDA device"):
        device.Device.open("h200")


def test_a_grading_without_its_device_is_not_the_students_fault() -> None:
    loaded = assignment.load(assignment.find("kernels/add-rmsnorm"))
    data = SOLUTION.read_bytes()
    job = JobSpec(
        submission="test",
        attempt=1,
        token="x" * 16,
        mode=Mode.GRADE,
        assignment=loaded.id,
        bundle=loaded.digest,
        files=(SourceFile(name="solution.py", sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware="h200"),
        deadline=time.time() + 600,
    )
    report = session.grade(
        job,
        loaded,
        {"solution.py": data},
        backend=registry.choose(None),
        hardware=profile.load("h200"),
        emit=lambda _event: None,
    )
    assert report.verdict is Verdict.GRADER_ERROR
    assert report.failure_class is FailureClass.INFRASTRUCTURE
    assert "no CUDA device" in report.message.en


@pytest.mark.parametrize(("hardware", "expected"), [("cpu", False), ("h200", True), ("nothing", False)])
def test_classes_of_devices(hardware: str, expected: bool) -> None:
    assert on_device(hardware) is expected
