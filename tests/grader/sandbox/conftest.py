"""Run small programs in a real sandbox and look at how they end."""

import os
import select
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox import container, engine, handover, trial
from grader.sandbox.base import MIB, Backend, Command, Limits, Process
from grader.sandbox.registry import BACKENDS
from grader.sandbox.trial import Outcome

SMALL = Limits(
    wall_seconds=60, memory_bytes=256 * MIB, processes=32, disk_bytes=8 * MIB, shm_bytes=4 * MIB, inodes=64
)


@pytest.fixture(scope="session", params=["bubblewrap", "docker"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """The backend under test, which must work on the machine that runs the tests."""
    assert os.geteuid() == 0, "these tests must run as root"
    backend = BACKENDS[request.param]()
    assert backend.available() is None, backend.available()
    return backend


@pytest.fixture(scope="session")
def python() -> Callable[[str], list[str]]:
    """python(code) -> arguments that run it without site packages, in every backend."""
    return lambda code: [sys.executable, "-I", "-S", "-c", textwrap.dedent(code)]


@pytest.fixture
def run(backend: Backend, python: Callable[[str], list[str]]) -> Callable[..., Outcome]:
    """run(Python code or arguments, limits=SMALL, **fields of Command) -> Outcome."""

    def run(program: str | list[str], limits: Limits = SMALL, **fields: Any) -> Outcome:
        argv = python(program) if isinstance(program, str) else program
        return trial.run(backend, Command(argv, **fields), limits)

    return run


@pytest.fixture
def start(backend: Backend, python: Callable[[str], list[str]]) -> Callable[..., Process]:
    """start(Python code or arguments, limits=SMALL, **fields of Command) -> Process; the test closes it."""

    def start(program: str | list[str], limits: Limits = SMALL, **fields: Any) -> Process:
        argv = python(program) if isinstance(program, str) else program
        return backend.start(Command(argv, **fields), limits)

    return start


@pytest.fixture(scope="session")
def line_of() -> Callable[[Process], str]:
    """line_of(process) -> its next line on stdout: programs under test say when they are ready."""

    def line_of(process: Process) -> str:
        text = b""
        deadline = time.monotonic() + 30
        while not text.endswith(b"\n"):
            assert select.select([process.stdout], [], [], max(deadline - time.monotonic(), 0))[0], text
            chunk = os.read(process.stdout, 1)
            assert chunk, f"stdout closed after {text!r}"
            text += chunk
        return text.decode().strip()

    return line_of


@pytest.fixture(scope="session")
def host_status() -> Callable[[int], dict[str, str]]:
    """host_status(pid) -> /proc/<pid>/status as the host sees it; empty if there is no such process."""

    def host_status(pid: int) -> dict[str, str]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return {}
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    return host_status


@pytest.fixture(scope="session")
def remains(session_cgroups: Callable[[int], set[str]]) -> Callable[[int], set[str]]:
    """remains(pid) -> cgroups, containers and folders of sessions of the process with this pid."""

    def remains(pid: int) -> set[str]:
        containers = set(engine.connect().containers(container.LABEL).values())
        folders = {str(path) for path in handover.FOLDER.glob("*")}
        return session_cgroups(pid) | {name for name in containers | folders if f"-{pid}-" in name}

    return remains


@pytest.fixture(scope="session")
def session_cgroups() -> Callable[[int], set[str]]:
    """session_cgroups(pid) -> folders of the session cgroups that the process with this pid has made."""

    def session_cgroups(pid: int) -> set[str]:
        return {
            f"{folder}/{name}"
            for folder, names, _ in os.walk("/sys/fs/cgroup")
            for name in names
            if name.startswith("solmark-") and f"-{pid}-" in name
        }

    return session_cgroups
