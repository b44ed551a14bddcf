"""Grades programs of the corpus for real, and looks at what they leave; `corpus.py` says what a program promises."""

import hashlib
import importlib.util
import json
import os
import re
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader import session
from grader.assignment import Assignment, load
from grader.contract import JobLimits, JobSpec, Mode, Report, SourceFile, Target
from grader.judge import build as judge_build
from grader.judge.supervisor import Supervisor
from grader.sandbox import container, engine, handover, registry, uids
from grader.sandbox.base import MIB, Backend
from tests.revision import revision

ROOT = Path(__file__).parents[2]
SEED = bytes(range(16))
RECORDS = "HOSTILE_RECORDS"
"""Names the file to which every check appends what it found, for `benchmarks/hostile.py`."""


def _load(name: str) -> ModuleType:
    """Tests have no packages: what lies beside this file is loaded by its path."""
    spec = importlib.util.spec_from_file_location(f"hostile_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"hostile_{name}"] = module
    spec.loader.exec_module(module)
    return module


corpus, controls = _load("corpus"), _load("controls")

LIMITS = JobLimits(
    wall_seconds=5.0,
    cpu_seconds=4.0,
    memory_bytes=1024 * MIB,
    processes=64,
    output_bytes=256 << 10,
    build_seconds=5.0,
)
AMOUNTS = {"MIB": "1500", "CPU": "5"}
"""More than a program may have, for those that count what they take."""
AMOUNTS_AT_BUILD = {"MIB": "3000", "CPU": "12"}
IN_PLACE_OF_THE_COMPILER = """

import os
import sys

if "cc1plus" in sys.argv[1] and "solution.cpp" in sys.argv:
    attack()
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""What makes a Python program a wrapper of g++: it does its harm, and then becomes the compiler."""

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
from tests.revision import revision


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
CANARY_CPP = b"""#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) { return t == nullptr; }
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        programs = corpus.chosen()
        metafunc.parametrize("program", programs, ids=[program.path.name for program in programs])
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", corpus.backends(), indirect=True, scope="session")


@dataclass(frozen=True)
class Host:
    """What there is to reach on the host, and what the judge has that nobody else may have."""

    port: int
    udp: int
    socket: Path
    secret: str

    def source(self, program: Any, amounts: Mapping[str, str] = AMOUNTS) -> bytes:
        """The program, told where to look: it need not find that out to be dangerous."""
        text: str = program.path.read_text()
        values: dict[str, object] = {"PORT": self.port, "UDP": self.udp, "SOCKET": self.socket}
        values |= {
            "FILE": self.socket.parent / "secret",
            "SECRET": self.secret,
            "ROOT": ROOT,
            "PID": os.getpid(),
            **amounts,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", str(value))
        return text.encode()


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A host with something to steal: servers, a socket, and a secret in a file that the judge has open."""
    secret = f"solmark-secret-{secrets.token_hex(8)}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as file,
    ):
        datagrams.bind(("127.0.0.1", 0))
        for local, address in ((abstract, f"\0{secret}"), (named, f"{folder}/socket")):
            local.bind(address)
            local.listen()
        Path(folder, "secret").write_text(f'{secret.replace("-", "_")} = "{secret}";\n')
        file.write(secret.encode())
        file.flush()
        os.set_inheritable(file.fileno(), True)  # As if it had been forgotten.
        threading.Thread(target=_echo, args=(datagrams,), daemon=True).start()
        yield Host(server.getsockname()[1], datagrams.getsockname()[1], Path(folder, "socket"), secret)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", datagrams.getsockname())


def _echo(channel: socket.socket) -> None:
    """Answer every datagram, until an empty one comes."""
    with suppress(OSError):
        while True:
            data, sender = channel.recvfrom(64)
            if not data:
                return
            channel.sendto(data, sender)


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


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that isolates and can run here."""
    return registry.choose(request.param)


@pytest.fixture(scope="session")
def grade(assignment: Assignment, backend: Backend) -> Callable[..., Report]:
    """grade(file name, content, limits=LIMITS) -> Report of a whole session."""

    def grade(name: str, content: bytes, limits: JobLimits = LIMITS) -> Report:
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
            limits=limits,
            deadline=time.time() + 600,
        )
        files = {name: content}
        return session.grade(
            job, assignment, files, backend=backend, hardware=None, emit=lambda _: None, seed=SEED
        )

    return grade


@pytest.fixture(scope="session")
def grade_within(grade: Callable[..., Report]) -> Callable[[bytes], Report]:
    """grade_within(content) -> Report, with so much wall time that a busy machine cannot use it up."""
    limits = LIMITS.model_copy(update={"wall_seconds": 60.0, "warm_up_seconds": 60.0})
    return lambda content: grade("solution.py", content, limits)


@pytest.fixture(scope="session")
def build(host: Host, backend: Backend) -> Callable[[Any], judge_build.Build]:
    """build(Python program) -> how a build ends in which it runs in the compiler's place."""

    def build(program: Any) -> judge_build.Build:
        source = host.source(program, AMOUNTS_AT_BUILD) + IN_PLACE_OF_THE_COMPILER.encode()
        return judge_build.compile_native(
            backend,
            controls.HELD,
            {"solution.cpp": CANARY_CPP, "hostile.py": source},
            "solution.cpp",
            flags=["-wrapper", f"{getattr(backend, 'python', sys.executable)},-I,-S,hostile.py"],
            seconds=5.0,
            cpus=None,
            supervisor=Supervisor(),
        )

    return build


@pytest.fixture(scope="session")
def unharmed(grade: Callable[[str, bytes], Report]) -> Callable[[], str]:
    """unharmed() -> verdict of an honest submission, graded now."""
    return lambda: grade("solution.py", CANARY).verdict.value


@pytest.fixture(scope="session")
def record() -> Callable[..., None]:
    """record(**fields) appends what a check has found to the file that HOSTILE_RECORDS names, if any."""

    def record(**fields: object) -> None:
        if path := os.environ.get(RECORDS):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({**fields, "commit": revision()}) + "\n")

    return record


@pytest.fixture(scope="session")
def control(host: Host, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], str]:
    """control(program) -> what is seen of it, in the words of `shows`, with its one limit lifted."""

    def control(program: Any) -> str:
        folder = tmp_path_factory.mktemp("control")
        return str(controls.run(program, host.source(program), folder, backend, host.secret))

    return control


@pytest.fixture(scope="session")
def unclean() -> Callable[[Any], list[str]]:
    """unclean(document) -> the texts in it that a terminal or a page might obey."""

    def unclean(value: Any) -> list[str]:
        if isinstance(value, str):
            return [] if controls.clean(value) else [value]
        if isinstance(value, Mapping):
            return [text for item in value.items() for part in item for text in unclean(part)]
        if isinstance(value, list | tuple):
            return [text for item in value for text in unclean(item)]
        return []

    return unclean


@pytest.fixture(scope="session")
def traces(backend: Backend) -> Callable[[], set[str]]:
    """traces() -> what this judge's sandboxes have on the host: processes, cgroups, mounts, files, containers."""
    ours = re.compile(rf"solmark-\d+-{os.getpid()}-")

    def traces() -> set[str]:
        found = {
            f"child {child}"
            for task in Path("/proc/self/task").iterdir()
            for child in (task / "children").read_text().split()
        }
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            found |= {f"{folder}/{name}" for name in names if ours.match(name)}
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        found |= {f"mount {line}" for line in mounts if "/docker/" not in line}  # Those are anybody's.
        found |= {f"descriptor {entry.name}" for entry in Path("/proc/self/fd").iterdir()}
        if backend.name == "docker":
            names = list(engine.connect().containers(container.LABEL).values())
            names += [folder.name for folder in handover.FOLDER.iterdir()] if handover.FOLDER.is_dir() else []
            found |= {f"container {name}" for name in names if ours.match(name)}
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            found |= {f"file {entry.path}" for entry in os.scandir(place) if _of_a_sandbox(entry)}
        return found

    return traces


def _of_a_sandbox(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid in range(uids.FIRST, uids.FIRST + uids.COUNT)
    except FileNotFoundError:
        return False
