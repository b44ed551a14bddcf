"""Bad input to the judge itself: the cause is named, nobody's work is blamed, and nothing hangs.

What an assignment does wrong before a submission runs is in the tests of sessions; here is what shows late,
or belongs to the machine.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from grader import assignment, session
from grader.contract import FailureClass, JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.judge import client, supervisor, timed
from grader.judge.failure import AssignmentFault
from grader.judge.gpu import device as gpu_device
from grader.judge.gpu.driver import CudaError
from grader.judge.phases import timed as timed_phase
from grader.sandbox import registry
from grader.sandbox.base import Backend, Command, Limits, Process
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

    def run(
        solution: bytes = SOLUTION, name: str = "solution.py", *, backend: Backend | None = None
    ) -> Report:
        loaded = assignment.load(folder)
        digest = hashlib.sha256(solution).hexdigest()
        job = JobSpec(
            submission="bad-input",
            attempt=1,
            token="a-token-of-a-test",
            mode=Mode.GRADE,
            assignment=loaded.id,
            bundle=loaded.digest,
            files=(SourceFile(name=name, sha256=digest, size=len(solution)),),
            target=Target(hardware="cpu"),
            deadline=time.time() + 600,
        )
        return session.grade(
            job,
            loaded,
            {name: solution},
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
    ("old", "new", "what"),
    [
        (ORACLE, f"CALLS.append(1)\n    if len(CALLS) > 6: raise KeyError('late')\n    {ORACLE}", "oracle"),
        (
            'slot["x"].fill_(',
            'CALLS.append(1)\n        assert len(CALLS) < 20\n        slot["x"].fill_(',
            "fill",
        ),
    ],
)
def test_an_author_whose_functions_fail_late_is_told_and_no_student_is(
    grade: Grade, folder: Path, old: str, new: str, what: str
) -> None:
    write(folder, old, new)
    write(folder, "from .shapes import shape", "from .shapes import shape\n\nCALLS = []")
    report = grade()
    assert report.verdict is Verdict.ASSIGNMENT_ERROR, report.message
    assert what in report.message.en
    assert report.tests  # Nothing was wrong before the submission ran.
    assert report.staff is not None
    assert "task.py" in report.staff.traceback


def test_an_oracle_that_never_returns_in_a_timed_round_ends_the_grading(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_phase, "CASE_SECONDS", 4.0)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.5)
    hang = "CALLS.append(1)\n    if len(CALLS) > 6: threading.Event().wait(600)\n    "
    write(folder, ORACLE, hang + ORACLE)
    write(folder, "from .shapes import shape", "import threading\n\nfrom .shapes import shape\n\nCALLS = []")
    report = grade()
    assert report.verdict is Verdict.ASSIGNMENT_ERROR, report.message


def test_a_submission_that_keeps_the_judge_waiting_is_no_fault_of_the_assignment(
    grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_phase, "CANDIDATE_SECONDS", 2.0)
    report = grade(SOLUTION.replace(b"0.002", b"0.5"))  # Each round is within its own limit.
    assert report.verdict is Verdict.TIME_LIMIT, report.message
    assert "together" in report.message.en


def test_a_device_that_vanishes_is_the_nodes_fault(grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_arguments: object, **_options: object) -> None:
        raise CudaError("CUDA: CUDA_ERROR_DEVICE_UNAVAILABLE")

    monkeypatch.setattr(timed, "run", gone)
    report = grade()
    assert report.verdict is Verdict.GRADER_ERROR
    assert report.failure_class is FailureClass.INFRASTRUCTURE
    assert report.staff is not None
    assert "CUDA_ERROR_DEVICE_UNAVAILABLE" in report.staff.traceback


class Other:
    """Sandboxes that start something else than what the judge has asked for."""

    def __init__(self, change: Callable[[Command], Command]) -> None:
        self._real, self._change = registry.choose(), change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def start(self, command: Command, limits: Limits) -> Process:
        """The command as it was changed."""
        return self._real.start(self._change(command), limits)


@pytest.mark.parametrize("argv", [("true",), ("sh", "-c", "echo no >&4; sleep 600")])
def test_a_harness_that_never_answers_is_the_nodes_fault_and_ends(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, argv: Sequence[str]
) -> None:
    monkeypatch.setattr(client.Client.ready, "__defaults__", (2.0,))
    report = grade(backend=cast("Backend", Other(lambda command: replace(command, argv=list(argv)))))
    assert report.verdict is Verdict.GRADER_ERROR
    assert "the harness did not start" in report.message.en


def test_a_machine_without_a_compiler_says_so_in_both_languages(grade: Grade) -> None:
    def hidden(command: Command) -> Command:
        return replace(command, environment={**command.environment, "PATH": "/nowhere"})

    report = grade(b"int x;", "solution.cpp", backend=cast("Backend", Other(hidden)))
    assert (report.verdict, report.message.code) == (Verdict.GRADER_ERROR, "no_compiler")
    assert "g++" in report.message.en
    assert "请安装" in report.message.zh


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
