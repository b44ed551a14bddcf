"""`solmark doctor` tells what a machine can enforce, from real attempts."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from grader.cli import doctor
from grader.doctor.diagnosis import Diagnosis, State
from grader.doctor.probes import Step, steps
from grader.doctor.texts import ADVICE, title
from grader.hardware import profile
from grader.judge import environment
from grader.sandbox import conformance, engine
from grader.sandbox.base import Backend, Limit
from grader.sandbox.bubblewrap import BubblewrapBackend
from grader.sandbox.docker import DockerBackend
from grader.sandbox.plain import PlainBackend
from grader.sandbox.process import SandboxProcess

app = typer.Typer()
app.command()(doctor.command)


def diagnose(*arguments: str) -> tuple[int, Diagnosis]:
    result = CliRunner().invoke(app, ["--json", *arguments])
    return result.exit_code, Diagnosis.model_validate_json(result.stdout)


@pytest.mark.alone
def test_a_machine_that_can_rank_is_told_so() -> None:
    code, diagnosis = diagnose()
    states = {check.id: check.state for check in diagnosis.checks}
    bad = [check for check in diagnosis.checks if check.state == State.FAILED]
    assert (code, diagnosis.rankable, diagnosis.unenforced) == (0, True, ()), bad
    assert {f"limit_{limit.value}" for limit in Limit} - {"limit_gpu_memory"} <= states.keys()
    assert all(states[f"limit_{limit.value}"] == State.OK for limit in conformance.limits())
    found = {check.id: check.found for check in diagnosis.checks}
    assert found["namespaces"] == "pid net ipc uts mnt"
    assert "µs" in found["freezer"]


@pytest.mark.alone
def test_every_limit_is_broken_in_docker_too() -> None:
    code, diagnosis = diagnose("--sandbox", "docker")
    states = {check.id: check.state for check in diagnosis.checks}
    bad = [check for check in diagnosis.checks if check.state == State.FAILED]
    assert (code, diagnosis.sandbox, diagnosis.rankable, diagnosis.unenforced) == (0, "docker", True, ()), bad
    assert all(states[f"limit_{limit.value}"] == State.OK for limit in conformance.limits())
    found = {check.id: check.found for check in diagnosis.checks}
    assert found["namespaces"] == "pid net ipc uts mnt"
    assert "cgroup v" in found["docker"]


def test_a_docker_daemon_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    engine.disconnect()
    try:
        code, diagnosis = diagnose("--sandbox", "docker")
    finally:
        engine.disconnect()
    checks = {check.id: check for check in diagnosis.checks}
    assert (code, checks["docker"].state, checks["sandbox"].state) == (3, State.FAILED, State.FAILED)
    assert "start dockerd" in checks["docker"].found
    assert checks["limit_memory"].state == State.SKIPPED


@pytest.mark.parametrize("mine", [True, False])
def test_a_constant_of_another_judge_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mine: bool
) -> None:
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path))
    (tmp_path / "hardware").mkdir()
    kept = profile.Calibration(
        hardware="cpu",
        name=profile.cpu_model(),
        calibrated="2026-12-01T00:00:00+00:00",
        versions={"judge": environment.clock_judge() if mine else "0123456789ab"},
    )
    (tmp_path / "hardware" / "cpu.json").write_text(kept.model_dump_json())
    step = next(step for step in steps(BubblewrapBackend()) if step.id == "calibration_judge")
    assert step.attempt()[0] is mine
    assert step.optional
    assert "solmark calibrate" in ADVICE[step.id].en


def test_a_sandbox_that_isolates_nothing_is_seen_through() -> None:
    code, diagnosis = diagnose("--sandbox", "plain")
    states = {check.id: check.state for check in diagnosis.checks}
    assert (code, diagnosis.rankable) == (3, False)
    failed = {name for name, state in states.items() if state == State.FAILED}
    assert {"namespaces", "identity", "limit_network"} <= failed
    assert {"network", "disk", "shm", "inodes", "gpu_memory"} == set(diagnosis.unenforced)
    assert set(diagnosis.unenforced) == {limit.value for limit in PlainBackend().unenforced()}
    assert states["limit_gpu_memory"] == State.WARNING
    assert all(check.advice is not None for check in diagnosis.checks if check.state == State.FAILED)


def test_a_limit_that_a_backend_does_not_vouch_for_is_named_though_a_breach_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As every Report names it: on a machine with a GPU, or where a watchdog stands in for a cgroup."""

    def few(backend: Backend) -> list[Step]:
        wanted = {"sandbox", "limit_cpu", "limit_disk", "limit_gpu_memory"}
        return [step for step in steps(backend) if step.id in wanted]

    monkeypatch.setattr("grader.doctor.diagnosis.steps", few)
    monkeypatch.setattr(BubblewrapBackend, "unenforced", lambda _: frozenset({Limit.CPU, Limit.GPU_MEMORY}))
    _, diagnosis = diagnose()
    checks = {check.id: check for check in diagnosis.checks}
    assert set(diagnosis.unenforced) == {"cpu", "gpu_memory"}
    assert (checks["limit_cpu"].state, checks["limit_disk"].state) == (State.FAILED, State.OK)
    assert checks["limit_gpu_memory"].advice is not None


def test_without_a_sandbox_the_rest_is_still_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BubblewrapBackend, "available", lambda _: "no namespaces here")
    code, diagnosis = diagnose()
    states = {check.id: check.state for check in diagnosis.checks}
    assert code == 3
    assert states["sandbox"] == State.FAILED
    assert states["python"] == State.OK
    assert states["limit_memory"] == State.SKIPPED
    assert "memory" in diagnosis.unenforced


def test_where_there_is_no_freezer_nobody_is_told_that_a_frozen_program_ran(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def few(backend: Backend) -> list[Step]:
        return [step for step in steps(backend) if step.id in {"sandbox", "freezer", "stillness"}]

    monkeypatch.setattr("grader.doctor.diagnosis.steps", few)
    monkeypatch.setattr(SandboxProcess, "freezer", None)
    _, diagnosis = diagnose()
    checks = {check.id: check for check in diagnosis.checks}
    assert (checks["freezer"].state, checks["freezer"].found) == (State.FAILED, "no cgroup freezer")
    assert (checks["stillness"].state, checks["stillness"].advice) == (State.SKIPPED, None)
    assert not diagnosis.rankable


def test_people_read_it_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BubblewrapBackend, "available", lambda _: "[red]no[/] namespaces")
    for language, words in (("en", ("wall time", "not tried")), ("zh", ("挂钟时间", "未测试"))):
        monkeypatch.setenv("SOLMARK_LANG", language)
        result = CliRunner().invoke(app, [])
        assert result.exit_code == 3
        assert all(word in result.stdout for word in words)
        assert "[red]no[/]" in result.stdout


def test_unknown_sandbox_is_a_usage_error() -> None:
    result = CliRunner().invoke(app, ["--sandbox", "tin-foil"])
    assert result.exit_code == 2


def test_every_check_has_a_title_and_advice() -> None:
    for limit in Limit:
        assert title(f"limit_{limit.value}").zh
        assert ADVICE[f"limit_{limit.value}"].zh
    for backend in (BubblewrapBackend(), DockerBackend(), PlainBackend()):
        for step in steps(backend):
            assert title(step.id).zh
            assert ADVICE[step.id].zh
