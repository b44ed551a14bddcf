"""Bad input to the judge itself: the cause is named, nobody's work is blamed, and nothing hangs.

What else an assignment does wrong is in the tests of sessions.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from grader import assignment, session
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.judge import timed
from grader.judge.failure import AssignmentFault
from grader.judge.gpu import device as gpu_device
from grader.sandbox import registry
from grader.sandbox.base import Backend
from grader.task import Case, Cost, FunctionTask, Tensor
from tests.grader.session.scale import hardware as hardware_of_scale

SOLUTION = b"""import time

import torch


def solve(x, y):
    time.sleep(0.002)
    torch.mul(x, 2, out=y)
"""
ORACLE = 'return {"y": inputs["x"].double() * 2}'
MACHINE = hardware_of_scale()
Grade = Callable[..., Report]


@pytest.fixture
def grade(folder: Path) -> Grade:
    """Grade `SOLUTION`, or another, against the small assignment."""
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace("rows = 1024, columns = 4096", "rows = 16, columns = 256")
    )

    def run(solution: bytes = SOLUTION, *, backend: Backend | None = None) -> Report:
        loaded = assignment.load(folder)
        digest = hashlib.sha256(solution).hexdigest()
        job = JobSpec(
            submission="bad-input",
            attempt=1,
            token="a-token-of-a-test",
            mode=Mode.GRADE,
            assignment=loaded.id,
            bundle=loaded.digest,
            files=(SourceFile(name="solution.py", sha256=digest, size=len(solution)),),
            target=Target(hardware="cpu"),
            deadline=time.time() + 600,
        )
        return session.grade(
            job,
            loaded,
            {"solution.py": solution},
            backend=backend or registry.choose(),
            hardware=MACHINE,
            emit=lambda _event: None,
        )

    return run


def write(folder: Path, old: str, new: str) -> None:
    path = folder / "task.py"
    source = path.read_text("utf-8")
    assert old in source
    path.write_text(source.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("new", "cause"),
    [
        ("return Cost()", "the cost of a timed case is zero"),
        ("return Cost(dram_bytes=0.0, steps=3)", "the bound is 0.0 s"),
        ("return Cost(dram_bytes=float('nan'))", "nan"),
        ("return Cost(operations={'tensor_fp8': 1.0})", "tensor_fp8"),
        ("return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_bound_of_zero_or_of_nothing_known_is_the_assignments_fault(
    grade: Grade, folder: Path, new: str, cause: str
) -> None:
    write(folder, "return Cost(", f"{new}\n    return Cost(")
    report = grade()
    assert report.verdict is Verdict.ASSIGNMENT_ERROR
    assert report.staff is not None
    assert cause in report.staff.traceback


def test_a_case_larger_than_the_device_is_the_assignments_fault() -> None:
    def tensors(_params: object) -> Sequence[Tensor]:
        return [Tensor("x", "float32", (1 << 20,), "in"), Tensor("y", "float32", (1 << 20,), "out")]

    task = FunctionTask(
        tensors=tensors,
        fill=lambda _params, _slots, _seeds: None,
        oracle=lambda _params, _inputs: {},
        cost=lambda _params: Cost(dram_bytes=8.0 * (1 << 20)),
    )
    case = Case("large", "kernel", "public", "timed", {})
    hardware = MACHINE.model_copy(update={"kind": "gpu"})
    small = cast("gpu_device.Device", SimpleNamespace(ring_bytes=lambda _working: 4 << 20))
    with pytest.raises(AssignmentFault, match="at most") as fault:
        timed.plan(task, case, hardware, small)
    assert "8 MiB; at most 4 MiB" in fault.value.detail
    large = cast("gpu_device.Device", SimpleNamespace(ring_bytes=lambda _working: 64 << 20))
    assert timed.plan(task, case, hardware, large).slots
