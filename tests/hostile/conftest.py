"""Grades programs of the corpus for real, and looks at what they leave; `corpus.py` says what a program promises."""

import json
import os
import re
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile import digests
from grader.contract import Report, Verdict
from grader.judge import build as judge_build
from grader.judge import environment
from grader.judge.supervisor import Supervisor
from grader.sandbox import container, engine, handover, registry, uids
from grader.sandbox.base import Backend
from tests.hostile import controls, corpus, grading, ranks, remains
from tests.revision import revision

ROOT = Path(__file__).parents[2]
RECORDS = "HOSTILE_RECORDS"
"""Names the file to which every check appends what it found, for `benchmarks/hostile.py`."""
AMOUNTS = {"MIB": "1500", "CPU": "5", "STAY": "60"}
"""More than a program may have, for those that count what they take; seconds after which nothing may be left of one
that stays."""
AMOUNTS_AT_BUILD = {**AMOUNTS, "MIB": "3000", "CPU": "12"}
AMOUNTS_IN_CONTROL = {**AMOUNTS, "STAY": "6"}
IN_PLACE_OF_THE_COMPILER = """

import os
import sys

if "cc1plus" in sys.argv[1] and "solution.cpp" in sys.argv:
    attack()
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""What makes a Python program a wrapper of g++: it does its harm, and then becomes the compiler."""

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
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that isolates and can run here."""
    return registry.choose(request.param)


@pytest.fixture(scope="session")
def grade(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Report]:
    """grade(file name, content, limits=grading.PATIENT) -> Report of a whole session."""
    root = tmp_path_factory.mktemp("hostile") / "assignments" / "kernels" / "double"
    return partial(grading.graded, grading.written(root, grading.TOML, grading.TASK), backend)


@pytest.fixture(scope="session")
def grade_ranks(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Report]:
    """grade_ranks(file name, content, limits=grading.PATIENT) -> Report of a whole session of several ranks."""
    root = tmp_path_factory.mktemp("ranks") / "assignments" / "communication" / "shift"
    return partial(grading.graded, grading.written(root, ranks.TOML, ranks.TASK), backend)


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
            seconds=grading.limits(program.at_build).build_seconds or 0.0,
            cpus=None,
            supervisor=Supervisor(),
        )

    return build


@pytest.fixture(scope="session")
def unharmed(grade: Callable[[str, bytes], Report]) -> Callable[[], str]:
    """unharmed() -> verdict of an honest submission, graded now, and the reason where it is not accepted."""
    return _honest(partial(grade, "solution.py", grading.HONEST))


@pytest.fixture(scope="session")
def ranks_unharmed(grade_ranks: Callable[[str, bytes], Report]) -> Callable[[], str]:
    """ranks_unharmed() -> as `unharmed`, of honest ranks."""
    return _honest(partial(grade_ranks, "solution.py", ranks.HONEST))


def _honest(grade: Callable[[], Report]) -> Callable[[], str]:
    """Grades once ahead: what is made for all gradings, and stays, is there before anybody looks what is left."""

    def verdict() -> str:
        report = grade()
        accepted = report.verdict is Verdict.ACCEPTED
        return (
            report.verdict.value if accepted else f"{report.verdict.value}: {report.message} {report.staff}"
        )

    assert verdict() == "accepted"
    return verdict


@pytest.fixture(scope="session")
def in_rank(host: Host) -> Callable[[Any], bytes]:
    """in_rank(program) -> a submission whose last rank is the program."""
    return lambda program: ranks.submission(program, host.source(program))


@pytest.fixture(scope="session")
def record() -> Callable[..., None]:
    """record(**fields) appends what a check has found to the file that HOSTILE_RECORDS names, if any."""

    def record(**fields: Any) -> None:
        if path := os.environ.get(RECORDS):
            with Path(path).open("a", encoding="utf-8") as file:
                of = {"digest": digests()[fields["program"]], "judge": environment.judge_version()}
                file.write(json.dumps({**fields, **of, "commit": revision()}) + "\n")

    return record


@pytest.fixture(scope="session")
def control(host: Host, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], str]:
    """control(program) -> what is seen of it, in the words of `shows`, with its one limit lifted."""

    def control(program: Any) -> str:
        folder = tmp_path_factory.mktemp("control")
        return str(
            controls.run(program, host.source(program, AMOUNTS_IN_CONTROL), folder, backend, host.secret)
        )

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
            found |= remains.of_containers()
        found |= remains.processes()
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            found |= {f"file {entry.path}" for entry in os.scandir(place) if _of_a_sandbox(entry)}
        return found

    return traces


def _of_a_sandbox(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid in range(uids.FIRST, uids.FIRST + uids.COUNT)
    except FileNotFoundError:
        return False
