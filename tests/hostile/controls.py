"""Controls: a program with the one thing lifted without which it does its harm, and what is then seen of it."""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from grader.judge import compilers
from grader.sandbox import seccomp, trial
from grader.sandbox.base import MIB, Backend, Command, Limit, Limits

OURS = Path(__file__).parents[2] / "grader" / "candidate"
HELD = Limits(
    wall_seconds=5.0, cpu_seconds=4.0, memory_bytes=1024 * MIB, processes=64, output_bytes=256 << 10
)
"""What a build and a control may use; a control has one of them lifted."""
LIFTED: Mapping[str, Mapping[str, Any]] = {
    "wall": {"wall_seconds": 7.0, "cpu_seconds": 60.0, "output_bytes": 64 * MIB},
    "cpu": {"cpu_seconds": 60.0, "wall_seconds": 600.0},
    "memory": {"memory_bytes": 4096 * MIB, "wall_seconds": 600.0, "cpu_seconds": 60.0},
    "processes": {"processes": 1000, "wall_seconds": 600.0, "cpu_seconds": 60.0},
    "output": {"output_bytes": 64 * MIB},
    "disk": {"disk_bytes": 1024 * MIB, "wall_seconds": 600.0, "cpu_seconds": 60.0},
    "shm": {"shm_bytes": 1024 * MIB},
    "inodes": {"inodes": 100_000, "wall_seconds": 600.0},
    "open_files": {"open_files": 4096},
    "judge": {
        "wall_seconds": 600.0,
        "cpu_seconds": 60.0,
        "memory_bytes": 4096 * MIB,
        "output_bytes": 64 * MIB,
    },
}


def run(program: Any, source: bytes, folder: Path, backend: Backend, secret: str) -> str:
    """What is seen of a program, in the words of `shows`. `folder` is empty, and for its source."""
    folder.chmod(0o755)
    file = folder / f"solution{program.path.suffix}"
    file.write_bytes(source if program.native else source + b"\n\nattack()\n")
    outside = program.lift == "sandbox"
    python = sys.executable if outside else getattr(backend, "python", sys.executable)
    place, ours = (str(folder), str(OURS)) if outside else ("/source", "/ours")
    if program.attacks_build:
        # The whole command of the judge's build, with our runner.
        artifact = f"{place}/solution.so" if outside else "/tmp/solution.so"
        sources = [f"{place}/solution.cpp", f"{ours}/runner.cpp"]
        argv = ["/usr/bin/g++", *compilers.flags("solution.cpp"), f"-I{ours}", *sources, "-o", artifact]
    elif program.native:
        command = ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{OURS}", str(file)]
        subprocess.run([*command, "-o", str(folder / "solution.so")], check=True)
        call = f"import ctypes; ctypes.CDLL('{place}/solution.so').attack()"
        argv = [python, "-I", "-S", "-c", call]
    else:
        argv = [python, "-I", "-S", f"{place}/solution.py"]
    if outside:
        return _without_sandbox(argv, program.shows, secret)
    return _with_wider_limits(backend, argv, folder, program)


def _without_sandbox(argv: list[str], shows: str, secret: str) -> str:
    """Twice: some look for what the run before has left. A shell between us keeps its orphans from us."""
    said = ""
    for _ in range(2):
        run = subprocess.run(
            ["/bin/sh", "-c", '"$@"; exit $?', "sh", *argv],
            env={**os.environ, "SECRET": secret},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            close_fds=False,
            timeout=600,
            check=False,
        )
        said += run.stdout.decode(errors="replace")
    seen = {"harm": "harm:" in said, "secret": secret in said, "exit:0": run.returncode == 0}
    return shows if seen[shows] else said


def _with_wider_limits(backend: Backend, argv: list[str], folder: Path, program: Any) -> str:
    limits = replace(HELD, **LIFTED.get(program.lift, {}))
    reader, writer = os.pipe()
    unsealed = os.memfd_create("unsealed")
    os.ftruncate(unsealed, 4096)
    shared = {"parser": {4: writer}, "seal": {5: unsealed}}.get(program.lift, {})
    mounts = {"/source": folder, "/ours": OURS}
    answers: list[str] = []
    listener = threading.Thread(target=lambda: answers.append(_naive(reader)))
    listener.start()
    filtered = _without_rules() if program.lift == "filter" else contextlib.nullcontext()
    try:
        with filtered:
            outcome = trial.run(backend, Command(argv, descriptors=shared, read_only=mounts), limits)
    finally:
        os.close(writer)
        listener.join()
        os.close(reader)
        os.close(unsealed)
    said = outcome.stdout + outcome.stderr
    end, kind = outcome.exit, program.shows.partition(":")[0]
    seen = {
        "harm": b"harm:" in said and "harm",
        "raw": not clean(said.decode("utf-8", "surrogateescape")) and "raw",
        "alive": outcome.stopped_by is Limit.WALL and "alive",
        "exit": f"exit:{end.code}",
        "signal": f"signal:{end.signal}",
        "ends": outcome.stopped_by is None and "ends",
        "fails": outcome.stopped_by is None and (end.signal or end.code) and "fails",
        "memory": (end.usage.memory_peak_bytes or 0) > 2048 * MIB and "memory:2048",
        "naive": f"naive:{answers[0]}",
    }[kind]
    return str(seen) if seen else f"{outcome}"


@contextlib.contextmanager
def _without_rules() -> Iterator[None]:
    """The whole sandbox, with a system call filter that has no rule."""
    try:
        with mock.patch.object(seccomp, "rules", lambda _network: iter(())):
            seccomp.program.cache_clear()
            yield
    finally:
        seccomp.program.cache_clear()


def _naive(reader: int) -> str:
    """What a judge that trusts the candidate would make of its first message."""
    data = b""
    while select.select([reader], [], [], 60)[0] and len(data) < 1 << 17:
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        data += chunk
    size, body = int.from_bytes(data[:4], "little"), data[4:]
    if not data or len(body) < size:
        return "waits"
    try:
        return str(json.loads(body[:size].decode())["type"])
    except (ValueError, RecursionError) as error:
        return type(error).__name__


def clean(text: str) -> bool:
    """Whether nobody's terminal or page would obey anything in it."""
    bidirectional = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    return not any(
        character in bidirectional
        or (unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n")
        for character in text
    )
