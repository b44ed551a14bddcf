"""The modes `profile` and `memcheck`: what tools say is read, and what is missing is said."""

import hashlib
import time
from pathlib import Path

import pytest

from grader import assignment, session
from grader.contract import FailureClass, JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.judge import inspecting
from grader.sandbox import registry

ASSIGNMENT = "kernels/add-rmsnorm"
REFERENCE = Path(__file__).parents[2] / "reference" / ASSIGNMENT
NCU = """==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","void add<float>(float*)","gpu__time_duration.sum","ns","1,500"
"0","7","void add<float>(float*)","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","91.5"
"0","7","void add<float>(float*)","launch__registers_per_thread","register/thread","32"
"1","7","void add<float>(float*)","gpu__time_duration.sum","ns","500"
"2","7","gemm","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","%","73"
"2","7","gemm","gpu__time_duration.sum","ns","n/a"
"""


def grade(name: str, mode: Mode) -> Report:
    loaded = assignment.load(assignment.find(ASSIGNMENT))
    data, file = (REFERENCE / name).read_bytes(), f"solution{Path(name).suffix}"
    job = JobSpec(
        submission="inspected",
        attempt=1,
        token="inspected-by-a-test",
        mode=mode,
        assignment=ASSIGNMENT,
        bundle=loaded.digest,
        files=(SourceFile(name=file, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    )
    return session.grade(
        job, loaded, {file: data}, backend=registry.choose(), hardware=None, emit=lambda _event: None
    )


def test_a_profile_shows_the_operators_of_calls_and_grades_nothing() -> None:
    report = grade("solution.py", Mode.PROFILE)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.score is None
    assert not report.tests
    assert not report.timed
    assert 1 <= len(report.inspections) <= 3
    for found in report.inspections:
        assert found.tool.startswith("torch profiler")
        assert {"aten::mul", "aten::add"} & {kernel.name for kernel in found.kernels}
        times = [kernel.seconds for kernel in found.kernels]
        assert times == sorted(times, reverse=True)
        assert times[0] > 0


@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [
        ("solution.cpp", Mode.PROFILE, "profile_native"),
        ("solution.py", Mode.MEMCHECK, "memcheck_no_device"),
    ],
)
def test_what_a_machine_lacks_is_said_and_costs_nothing(name: str, mode: Mode, code: str) -> None:
    report = grade(name, mode)
    assert report.message.code == code
    assert report.failure_class is FailureClass.INFRASTRUCTURE


def test_ncus_table_is_read_by_kernel() -> None:
    add, gemm = inspecting.kernels_of_ncu(NCU)
    assert (add.calls, add.registers, add.dram_share) == (2, 32, 0.915)
    assert add.seconds == pytest.approx(2e-6)
    assert (gemm.name, gemm.tensor_share, gemm.seconds) == ("gemm", 0.73, 0.0)


@pytest.mark.parametrize("said", ["", "==ERROR== ERR_NVGPUCTRPERM", '"ID"', '"ID","Kernel Name"\n"0"\n'])
def test_an_ncu_that_may_not_count_gives_no_kernels(said: str) -> None:
    assert inspecting.kernels_of_ncu(said) == []


def test_the_last_word_of_the_memory_checker_counts() -> None:
    assert inspecting.memory_errors("ERROR SUMMARY: 0 errors\n...\nERROR SUMMARY: 12 errors") == 12
    assert inspecting.memory_errors("killed") is None


def test_what_the_memory_checker_found_counts_though_its_program_did_not_come_to_its_end() -> None:
    said = (
        "========= Invalid __global__ write of size 4 bytes\n=========     at past_the_end(float *)+0x50\n"
        "========= Program hit cudaErrorLaunchFailure (error 719)\n"
    )
    assert inspecting.memory_errors(said) == 2
    assert inspecting.memory_errors(said + "========= ERROR SUMMARY: 3 errors") == 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"tool": "x", "kernels": [{"name": "k"}], "features": {}},
        {"tool": "x", "kernels": [{"name": "k", "calls": -1, "seconds": 1.0}], "features": {}},
        {"tool": "x", "kernels": [], "features": {"tma": "many"}},
    ],
)
def test_a_profilers_answer_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="form"):
        inspecting.profiled(value)


def test_a_tool_is_found_shown_to_the_sandbox_and_else_missing(tmp_path: Path) -> None:
    assert inspecting.ncu(str(tmp_path)) is None
    assert inspecting.memory_checker(str(tmp_path)) is None
    program = tmp_path / "compute-sanitizer"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    tool = inspecting.memory_checker(str(tmp_path))
    assert tool is not None
    assert tool.words[0] == str(program)
    assert tool.mounts == {str(tmp_path): tmp_path}


def test_the_toolkits_ncu_is_shown_with_what_it_stands_for(tmp_path: Path) -> None:
    program, home = tmp_path / "bin" / "ncu", tmp_path / "nvidia"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    tool = inspecting.ncu(str(program.parent), home)
    assert tool is not None
    assert tool.mounts == {str(program.parent): program.parent}
    home.mkdir()
    assert tool.mounts == {str(program.parent): program.parent, str(home): home}


@pytest.mark.parametrize(
    "row",
    [
        '"3","7","forged","launch__registers_per_thread","register/thread","nan"',
        '"3","7","forged","launch__registers_per_thread","register/thread","1e300"',
        '"3","7","forged","gpu__time_duration.sum","s","1e999"',
        '"3","7","forged","gpu__time_duration.sum","s","-5"',
        '"3","7","forged","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","inf"',
        f'"3","7","{"long" * 50000}","gpu__time_duration.sum","s","1"',
    ],
)
def test_rows_that_a_submission_forges_are_left_out(row: str) -> None:
    assert inspecting.kernels_of_ncu(f"{NCU}{row}\n") == inspecting.kernels_of_ncu(NCU)
