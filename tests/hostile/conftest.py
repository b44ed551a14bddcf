"""Grades programs of the corpus for real, and runs them with their one limit lifted as a control."""

import hashlib
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from grader import session
from grader.assignment import Assignment, load
from grader.contract import JobLimits, JobSpec, Mode, Report, SourceFile, Target
from grader.sandbox import registry, trial
from grader.sandbox.base import MIB, Backend, Command, Limits

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]
SEED = bytes(range(16))
HARM = "harm:"
"""What a program prints once it has done what it wants to do."""

LIMITS = JobLimits(
    wall_seconds=5.0,
    cpu_seconds=4.0,
    memory_bytes=1024 * MIB,
    processes=64,
    output_bytes=256 << 10,
    build_seconds=5.0,
)
HELD = Limits(
    wall_seconds=5.0, cpu_seconds=4.0, memory_bytes=1024 * MIB, processes=64, output_bytes=256 << 10
)
"""The same for a control, in which one of them is lifted."""
LIFTED: Mapping[str, Mapping[str, Any]] = {
    "wall": {"wall_seconds": 60.0},
    "cpu": {"cpu_seconds": 60.0, "wall_seconds": 60.0},
    "memory": {"memory_bytes": 4096 * MIB, "wall_seconds": 60.0},
    "processes": {"processes": 1000, "wall_seconds": 60.0, "cpu_seconds": 60.0},
    "output": {"output_bytes": 64 * MIB},
    "disk": {"disk_bytes": 1024 * MIB},
    "shm": {"shm_bytes": 1024 * MIB},
    "inodes": {"inodes": 100_000, "wall_seconds": 60.0},
    "open_files": {"open_files": 4096},
}

TOML = """\
id = "kernels/double"
topics = ["1.4"]
weight = 1.0
title = { en = "Double", zh = "加倍" }

[[parts]]
name = "kernel"
kind = "function"
entry = "solve"
languages = ["python", "cpp"]

[[targets]]
hardware = "cpu"
primary = true

[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = { rows = 3, columns = 5 }
tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }

[points]
correctness = 1.0
performance = 0.0
"""
TASK = '''\
"""y = 2 x."""

from grader import fills
from grader.task import Cost, FunctionTask, Tensor


def tensors(params):
    shape = (params["rows"], params["columns"])
    return (Tensor("x", "float32", shape, "in"), Tensor("y", "float32", shape, "out"))


def fill(params, slots, seeds):
    for slot, seed in zip(slots, seeds):
        fills.uniform(slot["x"], seed, "x", -1.0, 1.0)


PARTS = {
    "kernel": FunctionTask(
        tensors=tensors,
        fill=fill,
        oracle=lambda params, inputs: {"y": inputs["x"].double() * 2},
        cost=lambda params: Cost(dram_bytes=8 * params["rows"] * params["columns"]),
    )
}
'''
CANARY = b"def solve(x, y):\n    y.copy_(2 * x)\n"
_HEADER = re.compile(r"hostile: family=(?P<family>\S+) verdict=(?P<verdict>\S+) lift=(?P<lift>\S+)")


@dataclass(frozen=True)
class Program:
    """A program and what its header promises."""

    path: Path
    family: str
    verdicts: tuple[str, ...]
    """One, or more where it depends on the machine which limit is reached first."""
    lift: str
    """The one limit without which it does its harm; `sandbox` for all, `none` where there is none to lift."""


def corpus() -> list[Program]:
    """All programs, by name."""
    found = []
    for path in sorted(PROGRAMS.glob("*.*")):
        header = _HEADER.search(path.read_text().partition("\n")[0])
        assert header is not None, f"{path.name} has no header"
        found.append(Program(path, header["family"], tuple(header["verdict"].split(",")), header["lift"]))
    return found


def chosen() -> list[Program]:
    """One program of each family and a sixth of the rest, another one for each commit; all with HOSTILE=all."""
    programs = corpus()
    if os.environ.get("HOSTILE") == "all":
        return programs
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()

    def rank(program: Program) -> bytes:
        return hashlib.sha256(f"{revision} {program.path.name}".encode()).digest()

    by_rank = sorted(programs, key=rank)
    firsts = {program.family: program for program in reversed(by_rank)}.values()
    rest = [program for program in by_rank if program not in firsts]
    return sorted([*firsts, *rest[: len(rest) // 6]], key=lambda program: program.path.name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        programs = chosen()
        if "control" in metafunc.fixturenames:  # the others end by themselves or never, whatever the limits
            programs = [program for program in programs if program.lift != "none"]
        metafunc.parametrize("program", programs, ids=[program.path.name for program in programs])


@dataclass(frozen=True)
class Host:
    """What there is to reach on the host: a server, an abstract socket and a secret of the judge."""

    port: int
    secret: str

    def source(self, program: Program) -> bytes:
        """The program, told where to look: it need not find that out to be dangerous."""
        text = program.path.read_text()
        values = {"PORT": self.port, "SECRET": self.secret, "ROOT": ROOT, "PID": os.getpid()}
        for name, value in values.items():
            text = text.replace(f"@{name}@", str(value))
        return text.encode()


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A host with something to steal."""
    secret = f"solmark-secret-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{secret}")
        local.listen()
        yield Host(server.getsockname()[1], secret)


@pytest.fixture(scope="session")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """The smallest assignment."""
    root = tmp_path_factory.mktemp("hostile") / "assignments" / "kernels" / "double"
    (root / "starter").mkdir(parents=True)
    for name, text in {
        "assignment.toml": TOML,
        "task.py": TASK,
        "README.md": "# Double\n",
        "README.zh.md": "# 加倍\n",
        "starter/solution.py": "def solve(x, y):\n    pass\n",
    }.items():
        (root / name).write_text(text, "utf-8")
    return load(root)


@pytest.fixture(scope="session", params=["bubblewrap"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that isolates."""
    return registry.choose(request.param)


@pytest.fixture(scope="session")
def grade(assignment: Assignment, backend: Backend) -> Callable[[str, bytes], Report]:
    """grade(file name, content) -> Report of a whole session."""

    def grade(name: str, content: bytes) -> Report:
        digest = hashlib.sha256(content).hexdigest()
        job = JobSpec(
            submission="hostile",
            attempt=1,
            token="t" * 32,
            mode=Mode.TEST,
            assignment=assignment.id,
            bundle=assignment.digest,
            files=(SourceFile(name=name, sha256=digest, size=len(content)),),
            target=Target(hardware="cpu"),
            limits=LIMITS,
            deadline=time.time() + 600,
        )
        files = {name: content}
        return session.grade(
            job, assignment, files, backend=backend, hardware=None, emit=lambda _: None, seed=SEED
        )

    return grade


@pytest.fixture(scope="session")
def unharmed(grade: Callable[[str, bytes], Report]) -> Callable[[], str]:
    """unharmed() -> verdict of an honest submission, graded now."""
    return lambda: grade("solution.py", CANARY).verdict.value


@pytest.fixture(scope="session")
def control(
    host: Host, backend: Backend, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Program], str]:
    """control(program) -> what it prints with its limit lifted; for C++, whether it builds.

    Without any sandbox it runs twice: some look for what the run before has left.
    """

    def control(program: Program) -> str:
        source = host.source(program)
        if program.path.suffix == ".cpp":
            folder = tmp_path_factory.mktemp("build")
            (folder / "solution.cpp").write_bytes(source)
            include = f"-I{ROOT / 'grader' / 'candidate'}"
            command = ["g++", "-shared", "-fPIC", include, "solution.cpp", "-o", "solution.so"]
            return HARM if subprocess.run(command, cwd=folder, check=False).returncode == 0 else ""
        argv = [sys.executable, "-I", "-S", "-c", f"{source.decode()}\nattack()\n"]
        if program.lift == "sandbox":
            environment = {**os.environ, "SECRET": host.secret}
            runs = [
                subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
                for _ in range(2)
            ]
            return "".join(run.stdout for run in runs)
        limits = replace(HELD, **LIFTED[program.lift])
        return trial.run(backend, Command(argv), limits).text

    return control


@pytest.fixture(scope="session")
def leftovers() -> Callable[[], set[str]]:
    """leftovers() -> children of this process and cgroups of its sandboxes, which must all be gone."""

    def leftovers() -> set[str]:
        found = {
            f"child {child}"
            for task in Path("/proc/self/task").iterdir()
            for child in (task / "children").read_text().split()
        }
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            found |= {f"{folder}/{name}" for name in names if re.match(rf"solmark-\d+-{os.getpid()}-", name)}
        return found

    return leftovers
