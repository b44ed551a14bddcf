"""Whole gradings in Docker sandboxes: the assignment K04, and timed rounds with confirmed freezes."""

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader import session
from grader.assignment import load
from grader.contract import JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.hardware.profile import Hardware, Rates
from grader.sandbox import registry
from grader.sandbox.freezer import Cgroup1Freezer, Cgroup2Freezer

ROOT = Path(__file__).parents[3]
K04 = "kernels/add-rmsnorm"
TIMED = """
#include <unistd.h>
#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    usleep(2000);
    const float *x = (const float *)t[0].data;
    float *y = (float *)t[1].data;
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
"""


@pytest.mark.parametrize(
    ("solution", "verdict", "status"),
    [
        ("solution.py", Verdict.ACCEPTED, 0),
        ("wrong/eps_missing.py", Verdict.WRONG_ANSWER, 1),
    ],
)
def test_the_command_grades_in_docker(solution: str, verdict: Verdict, status: int) -> None:
    program = Path(sys.executable).with_name("solmark")
    path = ROOT / "reference" / K04 / solution
    done = subprocess.run(
        [program, "grade", K04, path, "--sandbox", "docker", "--mode", "test", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    report = Report.model_validate_json(done.stdout)
    assert (report.verdict, done.returncode) == (verdict, status), report.message
    assert (report.environment.sandbox, report.environment.unenforced_limits) == ("docker", ())
    assert report.environment.sandbox_image.startswith("sha256:")
    assert report.environment.freezer in {"cgroup1", "cgroup2"}


def _graded(folder: Path, sandbox: str, mode: Mode) -> Report:
    """TIMED graded against the small assignment, on hardware that is content with few rounds."""
    assignment, data = load(folder), TIMED.encode()
    rates = Rates(score=2.4e7, ceiling=2.4e7, measured=2.4e7)
    hardware = Hardware(
        hardware="cpu",
        name="made up",
        kind="cpu",
        interval_target=1e9,
        units={"fp32": rates},
        dram=rates,
        llc_bytes=1 << 20,
        calibrated="2026-01-01T00:00:00Z",
    )
    job = JobSpec(
        submission="s1",
        attempt=1,
        token="t" * 32,
        mode=mode,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=(SourceFile(name="solution.cpp", sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    )
    return session.grade(
        job,
        assignment,
        {"solution.cpp": data},
        backend=registry.choose(sandbox),
        hardware=hardware,
        emit=lambda _: None,
    )


def test_timed_rounds_are_frozen_through_the_containers_cgroup(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[str] = []

    def recording(kind: type[Cgroup1Freezer | Cgroup2Freezer]) -> None:
        freeze = kind.freeze

        def record(self: Cgroup1Freezer | Cgroup2Freezer, timeout_seconds: float = 1.0) -> None:
            freeze(self, timeout_seconds)  # type: ignore[arg-type]
            frozen.append(self.kind)

        monkeypatch.setattr(kind, "freeze", record)

    recording(Cgroup1Freezer)
    recording(Cgroup2Freezer)
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace("rows = 1024, columns = 4096", "rows = 16, columns = 256"), "utf-8"
    )
    report = _graded(folder, "docker", Mode.GRADE)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.timed[0].measure is not None
    assert report.timed[0].rounds
    assert len(frozen) >= len(report.timed[0].rounds)
    assert set(frozen) == {report.environment.freezer}


def test_an_assignments_packages_must_be_there(folder: Path) -> None:
    """Without an image they cannot be added; the staff read which they are."""
    path = folder / "assignment.toml"
    path.write_text(f'{path.read_text("utf-8")}\n[sandbox]\npackages = ["solmark-no-such-package==1.0"]\n')
    for name in ("docker", "bubblewrap"):
        report = _graded(folder, name, Mode.TEST)
        assert report.verdict is Verdict.GRADER_ERROR
        assert "solmark-no-such-package==1.0" in report.message.en
