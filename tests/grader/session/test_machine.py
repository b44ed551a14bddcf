"""The machine a grading runs on: its memory, its faults, and what it cannot isolate."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.contract import Event, FailureClass, Mode, Phase, SourceFile, Verdict
from grader.judge import authored, correctness
from grader.sandbox import registry
from tests.grader.session.scale import PYTHON, Broken, Grade, cpp, hardware


def test_a_machine_without_memory_takes_the_candidate_and_never_the_judge(
    folder: Path, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = Path("/proc/self/oom_score_adj")
    before = score.read_text()
    seen: list[str] = []
    rehearse = correctness.rehearse

    def watched(*arguments: Any, **options: Any) -> None:
        seen.append(score.read_text().strip())
        rehearse(*arguments, **options)

    monkeypatch.setattr(correctness, "rehearse", watched)
    show = (
        'char line[16] = ""; int file = open("/proc/self/oom_score_adj", O_RDONLY);'
        'if (read(file, line, 15) > 0) printf("oom %s", line);'
    )
    report = grade(cpp(show, "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"))
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert "oom 1000" in report.tests[0].stdout
    assert set(seen) == {_least_score()}
    assert score.read_text() == before


def _least_score() -> str:
    """The lowest oom_score_adj that a process of ours may give itself."""
    program = (
        "import pathlib; score = pathlib.Path('/proc/self/oom_score_adj')\n"
        "try: score.write_text('-1000')\nexcept OSError: pass\nprint(score.read_text().strip())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("later", [1 << 14, 1 << 30])
def test_memory_that_comes_or_goes_while_a_session_runs_changes_nothing(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    # The sandbox of the timed phase starts ahead, with an arena for the ring as it was planned then.
    free = iter([5 * 4 * (1 << 15)])
    told: list[Event] = []
    phases: set[Phase] = set()

    def available() -> int:
        phases.update(event.phase for event in told)
        return next(free, later)

    monkeypatch.setattr(authored, "available_bytes", available)
    report = grade({"mine.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=hardware(), events=told)
    assert phases == {Phase.PREPARE}  # No code of the submission had run that could take memory.
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert 1 <= report.timed[0].calls <= 5


def test_the_graders_own_faults_cost_nothing(grade: Grade) -> None:
    report = grade(cpp(), backend=Broken())
    assert (report.verdict, report.failure_class) == (Verdict.GRADER_ERROR, FailureClass.INFRASTRUCTURE)
    assert "no room left on the device" in report.message.en
    assert report.staff is not None
    assert "SandboxError" in report.staff.traceback
    assert grade(cpp(), bundle="0" * 64).verdict is Verdict.GRADER_ERROR
    renamed = grade(cpp(), files=(SourceFile(name="solution.cpp", sha256="0" * 64, size=1),))
    assert renamed.verdict is Verdict.GRADER_ERROR


def test_gradings_without_isolation_share_no_folder(grade: Grade) -> None:
    plain = registry.choose("plain")
    for _ in range(2):
        report = grade(cpp(), backend=plain)
        assert report.verdict is Verdict.ACCEPTED, report.message
    assert not Path("/tmp/submission").exists()


def test_staff_are_shown_what_the_build_of_an_image_for_it_printed(folder: Path, grade: Grade) -> None:
    with (folder / "assignment.toml").open("a", encoding="utf-8") as file:
        file.write('\n[sandbox]\npackages = ["einops==0.8.1"]\n')
    backend = Broken()
    backend.build_log = "Successfully installed einops-0.8.1"
    report = grade(cpp(), backend=backend)
    assert report.staff is not None
    assert "Successfully installed einops-0.8.1" in report.staff.traceback
    assert report.for_student().staff is None
