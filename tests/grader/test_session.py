"""Whole gradings in real sandboxes: every verdict, its message, and what each reader may see."""

import hashlib
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from grader import contract, session
from grader.assignment import Assignment, load
from grader.contract import (
    Event,
    FailureClass,
    JobLimits,
    JobSpec,
    Language,
    Mode,
    Phase,
    Report,
    SourceFile,
    Target,
    Verdict,
)
from grader.hardware import calibrate, profile
from grader.hardware.profile import Calibration, CoreRates, Hardware, Rates, cpu_model
from grader.judge import authored, cores, correctness, supervisor, timed
from grader.judge.phases import hidden
from grader.messages import text
from grader.sandbox import registry
from grader.sandbox.base import Backend, SandboxError

HONEST = """
#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const int64_t rows = t[0].shape[0], columns = t[0].shape[1];
    GUARD
    const float *x = (const float *)t[0].data;
    float *y = (float *)t[1].data;
    for (int64_t i = 0; i < rows * columns; ++i)
        y[i] = 2 * x[i];
    return 0;
}
"""
PYTHON = (
    "import time\nimport torch\n\n\ndef solve(x, y):\n    time.sleep(0.002)\n    torch.mul(x, 2, out=y)\n"
)
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def solve(x, y):
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""
SEED = bytes(range(16))

Grade = Callable[..., Report]


def _cpp(guard: str = "", head: str = "") -> dict[str, bytes]:
    """The honest solution, with something else in front of its loop."""
    return {"solution.cpp": (head + HONEST.replace("GUARD", guard)).encode()}


SLOW = "usleep(2000);"
"""With `_hardware`, a ring of seven slots, and about half the speed of light."""


def _hardware() -> Hardware:
    """A made-up slow machine whose stopping rule is content with the least number of rounds."""
    rates = Rates(score=2.4e7, ceiling=2.4e7, measured=2.4e7)
    return Hardware(
        hardware="cpu",
        name="made up",
        kind="cpu",
        interval_target=1e9,
        units={"fp32": rates},
        dram=rates,
        llc_bytes=1 << 20,
        calibrated="2026-01-01T00:00:00Z",
    )


def _job(assignment: Assignment, contents: Mapping[str, bytes], mode: Mode, **changes: Any) -> JobSpec:
    return JobSpec(
        submission="s1",
        attempt=1,
        token="t" * 32,
        mode=mode,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=tuple(
            SourceFile(
                name=name,
                sha256=hashlib.sha256(data).hexdigest(),
                size=min(len(data), contract.MAX_FILE_BYTES),
            )
            for name, data in contents.items()
        ),
        target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    ).model_copy(update=changes)


@pytest.fixture
def grade(folder: Path) -> Grade:
    """Grade files against the small assignment: `grade(files, mode=..., hardware=..., events=..., **job)`."""
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace("rows = 1024, columns = 4096", "rows = 16, columns = 256"), "utf-8"
    )

    def run(
        contents: Mapping[str, bytes],
        *,
        mode: Mode = Mode.TEST,
        hardware: Hardware | None = None,
        events: list[Event] | None = None,
        backend: Backend | None = None,
        holds: bool = False,
        once: bool = False,
        **changes: Any,
    ) -> Report:
        assignment = load(folder)
        report = session.grade(
            _job(assignment, contents, mode, **changes),
            assignment,
            contents,
            backend=backend or registry.choose("bubblewrap"),
            hardware=hardware,
            emit=(events if events is not None else []).append,
            seed=SEED,
            node="here",
            holds=holds,
            once=once,
        )
        # Whatever happened, the Report can be sent.
        return contract.read(Report, report.model_dump_json())

    return run


def test_an_accepted_grading_says_everything(grade: Grade) -> None:
    events: list[Event] = []
    report = grade(_cpp(SLOW, "#include <unistd.h>\n"), mode=Mode.GRADE, hardware=_hardware(), events=events)
    assert (report.verdict, report.message.code) == (Verdict.ACCEPTED, "accepted_timed"), report.message
    assert report.language is Language.CPP
    assert [(test.case, test.verdict) for test in report.tests] == [
        ("tiny", Verdict.ACCEPTED),
        ("cpu-python", None),  # not meant for C++
    ]
    assert report.tests[0].shapes == {"x": "float32[3, 5]", "y": "float32[3, 5]"}
    assert report.hidden == contract.HiddenResult(passed=True, cases=1)
    (timed,) = report.timed
    assert timed.measure is not None
    assert timed.measure.bound_by == "dram"
    assert timed.fraction == pytest.approx(timed.measure.bound / timed.measure.value)  # type: ignore[operator]
    assert report.score is not None
    assert report.score.fraction == pytest.approx(timed.fraction)
    assert report.score.correctness_points == pytest.approx(40.0)
    assert report.score.ranked is False  # the made-up profile has no constant c
    assert report.score.unranked_reason is not None
    assert report.build is not None
    assert report.build.command.startswith("g++")
    assert report.environment.sandbox == "bubblewrap"
    assert report.environment.node == "here"
    assert {time.phase for time in report.phases} == {
        Phase.PREPARE, Phase.BUILD, Phase.PUBLIC, Phase.TIMED, Phase.HIDDEN, Phase.SCORE
    }  # fmt: skip
    assert sum(time.seconds for time in report.phases) <= report.seconds
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.phase for event in events} == {time.phase for time in report.phases}
    assert not [event for event in events if event.phase is Phase.HIDDEN and event.case]


def test_without_a_calibration_times_are_shown_without_a_fraction(grade: Grade) -> None:
    profile = _hardware().model_copy(update={"calibrated": None, "units": {}, "dram": None})
    report = grade(_cpp(SLOW, "#include <unistd.h>\n"), mode=Mode.GRADE, hardware=profile)
    assert report.verdict is Verdict.ACCEPTED
    (timed,) = report.timed
    assert timed.measure is not None
    assert timed.measure.value > 0
    assert timed.fraction is None
    assert report.score is not None
    assert report.score.fraction is None
    assert report.score.fraction_reason is not None
    assert "solmark calibrate" in report.score.fraction_reason.en
    assert report.score.ranked is False


@pytest.mark.parametrize(
    ("files", "language", "code"),
    [
        ({"solution.py": b""}, None, "empty_file"),
        ({"solution.py": b"#" * (2 << 20)}, None, "too_large"),
        ({"solution.java": b"class A {}"}, None, "wrong_suffix"),
        ({"solution.cu": b"int x;"}, None, "language_not_taken"),
        ({"solution.py": b"x = 1"}, Language.CPP, "wrong_language"),
    ],
)
def test_files_that_cannot_be_graded_never_reach_a_sandbox(
    grade: Grade, files: dict[str, bytes], language: Language | None, code: str
) -> None:
    report = grade(files, backend=_Broken(), language=language)
    assert (report.verdict, report.message.code) == (Verdict.BUILD_ERROR, code)
    assert report.failure_class is FailureClass.STUDENT
    assert report.tests == ()


def test_a_build_error_shows_the_whole_log(grade: Grade) -> None:
    report = grade(_cpp(head="#warning look here\nint x = unknown;\n"))
    assert (report.verdict, report.message.code) == (Verdict.BUILD_ERROR, "compile_error")
    assert report.build is not None
    assert "look here" in report.build.log
    assert "solution.cpp:2:9: error:" in report.build.log
    assert report.tests == ()


BIG_CONSTANT = (
    "constexpr int f(int n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\nconstexpr int big = f(60);\n"
)


@pytest.mark.parametrize("head", ['#include "/dev/zero"\n', BIG_CONSTANT])
def test_a_build_without_end_is_ended(grade: Grade, head: str) -> None:
    report = grade(_cpp(head=head), limits=JobLimits(build_seconds=2.0))
    assert report.verdict in (Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.BUILD_ERROR)
    assert report.failure_class is FailureClass.STUDENT
    assert report.tests == ()


def test_a_crash_is_reported_for_every_case_and_harms_nobody(grade: Grade, folder: Path) -> None:
    _add_cases(folder, [f"case-{number}" for number in range(5)])
    report = grade(_cpp("*(volatile int *)8 = 1;"))
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert "SIGSEGV" in report.message.en
    assert "SIGSEGV" in report.message.zh
    ran = [test for test in report.tests if test.verdict is not None]
    assert [test.verdict for test in ran] == [Verdict.RUNTIME_ERROR] * 4  # the first and three restarts
    assert report.hidden is None
    not_run = [test.message.code for test in report.tests if test.verdict is None and test.message]
    assert sorted(not_run) == ["not_for_language", "not_run_restarts", "not_run_restarts"]
    assert grade(_cpp()).verdict is Verdict.ACCEPTED


def test_cases_after_a_crash_run_in_a_fresh_process(grade: Grade, folder: Path) -> None:
    _add_cases(folder, ["one", "two"])
    crash_once = (
        "static int calls; if (rows == 3 && columns == 5) __builtin_trap(); if (calls++ > 1) return 9;"
    )
    report = grade(_cpp(crash_once))
    verdicts = {test.case: test.verdict for test in report.tests}
    assert verdicts == {
        "tiny": Verdict.RUNTIME_ERROR,
        "one": Verdict.ACCEPTED,
        "two": Verdict.ACCEPTED,
        "cpu-python": None,
    }


@pytest.mark.parametrize("guard", ["if (rows > 3) return 0;", "if (rows > 3) __builtin_trap();"])
def test_a_hidden_failure_is_one_bit_for_the_student_and_all_for_staff(
    grade: Grade, folder: Path, guard: str
) -> None:
    _set_hidden(folder, 'rows = { range = [4, 300] }, columns = { choice = [7, 64, 1031] }, kind = "plain"')
    report = grade(_cpp(guard))
    assert (report.verdict, report.message.code) == (Verdict.WRONG_ANSWER, "hidden_failed")
    assert report.hidden == contract.HiddenResult(passed=False, cases=1)
    assert report.staff is not None
    (found,) = report.staff.hidden
    assert found.verdict in (Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR)
    assert 4 <= found.params["rows"] <= 300
    assert report.staff.seed == SEED.hex()
    assert report.staff.replay == f"solmark grade kernels/scale solution.cpp --mode test --seed {SEED.hex()}"
    again = grade(_cpp(guard))
    assert again.staff is not None
    assert again.staff.hidden[0].params == found.params
    assert again.staff.hidden[0].first_wrong == found.first_wrong
    student = report.for_student().model_dump_json()
    for secret in (SEED.hex(), "drawn", '"plain"', str(found.params["columns"]) + "]"):
        assert secret not in student
    shown = report.for_student()
    assert Phase.HIDDEN not in {time.phase for time in shown.phases}
    assert shown.seconds == pytest.approx(sum(time.seconds for time in shown.phases))
    hidden_seconds = sum(time.seconds for time in report.phases if time.phase is Phase.HIDDEN)
    assert shown.seconds <= report.seconds - hidden_seconds
    assert shown.for_student() == shown


def test_a_replay_names_what_the_command_would_not_choose_by_itself(grade: Grade, folder: Path) -> None:
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace('languages = ["triton"]', 'languages = ["python"]'), "utf-8"
    )
    files = {"solution.py": b"import triton\n" + PYTHON.encode()}
    base = f"solmark grade kernels/scale solution.py --mode test --seed {SEED.hex()}"
    for language, target, more in (
        (None, "cpu", ""),
        (Language.TRITON, "cpu", ""),
        (Language.PYTHON, "cpu", " --language python"),
        (Language.PYTHON, "h200", " --hardware h200 --language python"),
    ):
        report = grade(files, language=language, target=Target(hardware=target))
        assert report.staff is not None
        assert report.staff.replay == base + more


@pytest.mark.parametrize(("found", "said"), [("no_freezer", "no_freezer"), ("one_core", "no_isolation")])
def test_no_freezer_is_said_before_any_other_reason(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, found: str, said: str
) -> None:
    monkeypatch.setattr(timed, "unranked", lambda *_: text(found))
    plain = registry.choose("plain")
    files = {"solution.py": PYTHON.encode()}
    report = grade(files, mode=Mode.GRADE, hardware=_hardware(), backend=plain, once=True)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.score is not None
    assert report.score.unranked_reason is not None
    assert report.score.unranked_reason.code == said


def test_marks_of_the_hidden_phase_are_few() -> None:
    marks = [hidden.mark(seconds / 10) for seconds in range(1, 2000)]
    assert sorted(set(marks)) == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 192.0, 256.0]
    assert all(mark >= seconds / 10 for seconds, mark in enumerate(marks, 1))


@pytest.mark.parametrize("guard", ["", "if (columns == 7) return 0;"])
def test_a_student_waits_for_a_mark_whatever_the_hidden_tests_find(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    _set_hidden(folder, 'rows = 9, columns = 7, kind = "plain"')
    monkeypatch.setattr(hidden, "FIRST_MARK", 1.0)
    events: list[Event] = []
    report = grade(_cpp(guard), mode=Mode.GRADE, hardware=_hardware(), events=events, holds=True, once=True)
    assert report.hidden is not None
    assert report.hidden.passed is not bool(guard)
    spent = {time.step: time.seconds for time in report.phases if time.phase is Phase.HIDDEN}
    assert spent["hold"] > 0
    first, last = (event.time for event in events if event.phase in (Phase.HIDDEN, Phase.SCORE))
    assert last - first >= 0.99  # Wall clock; the hold goes by the monotonic one.
    assert "hold" not in {time.step for time in report.for_student().phases}


def test_an_oracle_fails_before_any_code_of_the_submission_runs(grade: Grade, folder: Path) -> None:
    source = (folder / "task.py").read_text()
    wrong = source.replace('return {"y": inputs["x"].double() * 2}', 'return {"y": inputs["x"][:1].double()}')
    (folder / "task.py").write_text(wrong)
    events: list[Event] = []
    report = grade(_cpp("*(volatile int *)8 = 1;"), events=events)
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "assignment_fault")
    assert report.tests == ()
    assert Phase.PUBLIC not in {event.phase for event in events}


def test_the_oracle_is_rehearsed_for_each_layout_and_the_largest_timed_case(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "task.py"
    tensor = 'Tensor("x", "float32", shape(params), "in")'
    assert tensor in path.read_text("utf-8")
    strided = tensor[:-1] + ', strides=(params["columns"] + params.get("pad", 0), 1))'
    either = f"{strided} if 'pad' in params else {tensor}"
    path.write_text(path.read_text("utf-8").replace(tensor, either), "utf-8")
    toml = (folder / "assignment.toml").read_text("utf-8")
    at = toml.index("[points]")
    more = "".join(
        f'[[cases]]\nid = "{name}"\npart = "kernel"\nrole = "{role}"\nparams = {{ {params} }}\n'
        "tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }\n"
        for name, role, params in (
            ("again", "test", "rows = 4, columns = 4"),
            ("cut", "test", "rows = 4, columns = 4, pad = 3"),
            ("cut-again", "test", "rows = 5, columns = 4, pad = 1"),
            ("widest", "timed", "rows = 32, columns = 256"),
        )
    )
    (folder / "assignment.toml").write_text(toml[:at] + more + toml[at:], "utf-8")
    seen: list[tuple[str, bool]] = []
    rehearse = correctness.rehearse

    def watched(task: Any, case: Any, seed: int, *, watch: Any, compared: bool = True) -> None:
        seen.append((case.id, compared))
        rehearse(task, case, seed, watch=watch, compared=compared)

    monkeypatch.setattr(correctness, "rehearse", watched)
    events: list[Event] = []
    report = grade({"solution.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=_hardware(), once=True)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert seen == [("tiny", True), ("cut", True), ("widest", False)]
    seen.clear()
    path.write_text(
        path.read_text("utf-8").replace(
            'return {"y": inputs["x"].double() * 2}',
            'assert "pad" not in params\n    return {"y": inputs["x"].double() * 2}',
        ),
        "utf-8",
    )
    report = grade(_cpp("*(volatile int *)8 = 1;"), events=events)
    assert report.verdict is Verdict.ASSIGNMENT_ERROR
    assert Phase.PUBLIC not in {event.phase for event in events}


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
    report = grade(_cpp(show, "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"))
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


def test_a_students_copy_grades_without_hidden_cases(grade: Grade, folder: Path) -> None:
    (folder / "hidden" / "cases.toml").unlink()
    report = grade(_cpp("if (rows > 3) return 0;"))
    assert report.verdict is Verdict.ACCEPTED
    assert report.hidden is None


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('return {"y": inputs["x"].double() * 2}', "raise KeyError('lost')", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return {}", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return {'y': inputs['x'][:1].double()}", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "return [1]", "oracle"),
        ('slot["x"].fill_(seed % 7)', "slot['nothing'].fill_(1)", "fill"),
        ("from .shapes import shape", "raise OSError('no such thing')", "task.py"),
        ('Tensor("y", "float32", shape(params), "out")', "Tensor('x', 'float32', (1,), 'out')", "tensors"),
        ('return {"y": inputs["x"].double() * 2}', "raise SystemExit(0)", "oracle"),
        ('return {"y": inputs["x"].double() * 2}', "raise KeyboardInterrupt", "oracle"),
        ("from .shapes import shape", "raise KeyboardInterrupt", "task.py"),
        (
            'Tensor("y", "float32", shape(params), "out")',
            "Tensor('y', 'float32', (1 << 31,), 'out')",
            "tensors",
        ),
        ("fill, oracle, cost)", "fill, oracle, cost, lambda p: {'n': 1 << 63})", "scalars"),
    ],
)
def test_the_assignments_faults_are_not_the_students(
    grade: Grade, folder: Path, old: str, new: str, what: str
) -> None:
    source = (folder / "task.py").read_text()
    assert old in source
    (folder / "task.py").write_text(source.replace(old, new))
    report = grade(_cpp())
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "assignment_fault")
    assert what in report.message.en
    assert report.staff is not None
    assert "task.py" in report.staff.traceback
    assert "Traceback" not in report.for_student().model_dump_json()


def test_a_hint_that_ends_programs_is_left_out(grade: Grade, folder: Path) -> None:
    source = (folder / "task.py").read_text()
    hint = "fill, oracle, cost, explain=lambda *_: exec('raise SystemExit(0)'))"
    (folder / "task.py").write_text(source.replace("fill, oracle, cost)", hint))
    report = grade(_cpp("return 0;"))
    assert report.verdict is Verdict.WRONG_ANSWER


def test_an_oracle_that_hangs_ends_the_grading(
    grade: Grade, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authored, "SECONDS", 0.5)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.5)
    source = (folder / "task.py").read_text()
    hang = "import threading; threading.Event().wait(20); return {}"
    (folder / "task.py").write_text(source.replace('return {"y": inputs["x"].double() * 2}', hang))
    report = grade(_cpp())
    assert report.verdict is Verdict.ASSIGNMENT_ERROR
    assert "oracle" in report.message.en


def test_an_assignment_that_is_not_for_this_machine(grade: Grade) -> None:
    report = grade(_cpp(), target=Target(hardware="b200"))
    assert (report.verdict, report.message.code) == (Verdict.ASSIGNMENT_ERROR, "no_target")
    assert "h200" in report.message.en


class _Broken:
    """A sandbox that cannot start anything."""

    name = "broken"
    isolates = True
    identity: Literal["own"] = "own"
    python = sys.executable
    image = ""

    def available(self) -> str | None:
        return None

    def unenforced(self) -> frozenset[Any]:
        return frozenset()

    def equipped(self, packages: object) -> "_Broken":
        return self

    def start(self, command: object, limits: object) -> Any:
        raise SandboxError("no room left on the device\nat all")


def test_the_graders_own_faults_cost_nothing(grade: Grade) -> None:
    report = grade(_cpp(), backend=_Broken())
    assert (report.verdict, report.failure_class) == (Verdict.GRADER_ERROR, FailureClass.INFRASTRUCTURE)
    assert "no room left on the device" in report.message.en
    assert report.staff is not None
    assert "SandboxError" in report.staff.traceback
    assert grade(_cpp(), bundle="0" * 64).verdict is Verdict.GRADER_ERROR
    renamed = grade(_cpp(), files=(SourceFile(name="solution.cpp", sha256="0" * 64, size=1),))
    assert renamed.verdict is Verdict.GRADER_ERROR


def test_python_is_graded_and_timed(grade: Grade) -> None:
    report = grade({"mine.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=_hardware())
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert [test.verdict for test in report.tests] == [Verdict.ACCEPTED] * 2
    assert report.environment.torch
    assert report.timed[0].calls >= 1


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
    report = grade({"mine.py": PYTHON.encode()}, mode=Mode.GRADE, hardware=_hardware(), events=told)
    assert phases == {Phase.PREPARE}  # No code of the submission had run that could take memory.
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert 1 <= report.timed[0].calls <= 5


def test_triton_is_checked_but_not_timed_on_a_cpu(grade: Grade, folder: Path) -> None:
    _add_cases(folder, ["half"], 'rows = 2, columns = 3, kind = "bfloat16"')
    report = grade({"solution.py": TRITON.encode()}, mode=Mode.GRADE, hardware=_hardware())
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.language is Language.TRITON
    verdicts = {test.case: (test.verdict, test.message and test.message.code) for test in report.tests}
    assert verdicts["tiny"] == (Verdict.ACCEPTED, None)
    assert verdicts["half"] == (None, "triton_bf16")
    (timed,) = report.timed
    assert timed.verdict is None
    assert report.score is not None
    assert report.score.fraction is None
    assert report.score.fraction_reason is not None
    assert report.score.fraction_reason.code == "triton_not_timed"
    assert report.score.points == pytest.approx(40.0)


def test_a_report_is_cut_to_what_the_wire_takes(grade: Grade) -> None:
    report = grade({"solution.py": b""})
    case = contract.TestResult(case="c", part="p", verdict=None, stdout="x" * 16384, stderr="y" * 16384)
    assert report.staff is not None
    staff = report.staff.model_copy(update={"hidden": (case,) * 30, "traceback": "z" * 65536})
    large = report.model_copy(update={"tests": (case,) * 60, "staff": staff})
    assert len(large.model_dump_json()) > contract.REPORT_BYTES
    cut = session.fit(large)
    assert contract.read(Report, cut.model_dump_json()) == cut
    assert session.fit(report) is report


def test_a_seed_of_any_length_is_taken(folder: Path) -> None:
    assignment = load(folder)
    files = {"solution.py": b""}
    for seed in (b"", b"x", secrets.token_bytes(33), None):
        report = session.grade(
            _job(assignment, files, Mode.TEST),
            assignment,
            files,
            backend=_Broken(),
            hardware=None,
            emit=lambda _event: None,
            seed=seed,
        )
        assert report.staff is not None
        assert len(bytes.fromhex(report.staff.seed)) == 16


def _add_cases(folder: Path, names: list[str], params: str = "rows = 2, columns = 3") -> None:
    path = folder / "assignment.toml"
    cases = "".join(
        f'[[cases]]\nid = "{name}"\npart = "kernel"\nrole = "test"\nparams = {{ {params} }}\n'
        'tolerance = { "*" = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }\n\n'
        for name in names
    )
    text = path.read_text("utf-8")
    path.write_text(text.replace("[points]", cases + "[points]"), "utf-8")


def _set_hidden(folder: Path, params: str) -> None:
    path = folder / "hidden" / "cases.toml"
    lines = [
        f"params = {{ {params} }}" if line.startswith("params") else line
        for line in path.read_text("utf-8").splitlines()
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")


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
    report = grade(_cpp(), mode=Mode.GRADE, hardware=_hardware())
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


def test_gradings_without_isolation_share_no_folder(grade: Grade) -> None:
    plain = registry.choose("plain")
    for _ in range(2):
        report = grade(_cpp(), backend=plain)
        assert report.verdict is Verdict.ACCEPTED, report.message
    assert not Path("/tmp/submission").exists()


@pytest.mark.usefixtures("slow_once")
def test_what_no_ceiling_explains_is_faster_than_light(grade: Grade, folder: Path) -> None:
    path = folder / "task.py"
    honest = path.read_text("utf-8")
    path.write_text(honest.replace("dram_bytes=8 * elements", "dram_bytes=8e6 * elements"), "utf-8")
    report = grade(_cpp(), mode=Mode.GRADE, hardware=_hardware())
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
    report = grade(_cpp(), mode=Mode.GRADE, hardware=_hardware())
    assert report.verdict is Verdict.UNSTABLE_TIMING
