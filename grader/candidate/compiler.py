"""Compiles a C++ submission together with our runner into one shared object."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .failures import SubmissionError

FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Wall", "-fmax-errors=50",
)  # fmt: skip


@dataclass(frozen=True)
class Built:
    """Exit code of the compiler (or minus its signal), what it printed, where its product lies."""

    status: int
    log: bytes
    artifact: str


def build(folder: str, entry: str, artifact: str, log_bytes: int) -> Built:
    """Compile `entry` and every other `.cpp` of the folder; headers are found beside them."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise SubmissionError("no_compiler")
    ours = Path(__file__).parent
    sources = [entry, *sorted(path.name for path in Path(folder).glob("*.cpp") if path.name != entry)]
    command = [compiler, *FLAGS, f"-I{ours}", "-I.", *sources, str(ours / "runner.cpp"), "-o", artifact]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    log = _drain(process.stdout.fileno(), log_bytes)
    process.stdout.close()
    return Built(process.wait(), log, artifact)


def _drain(descriptor: int, limit: int) -> bytes:
    """Everything up to the limit; what comes after is read and dropped, so that the compiler can end."""
    log = bytearray()
    while data := os.read(descriptor, 65536):
        log += data[: max(0, limit - len(log))]
    return bytes(log)
