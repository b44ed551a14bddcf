"""Compiles a C++ or CUDA submission together with our runner into one shared object."""

import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .failures import SubmissionError

_PIPE_BYTES = 1 << 20
_CUDA_PLACES = "/usr/local/cuda/bin:/opt/cuda/bin"


@dataclass(frozen=True)
class Built:
    """Exit code of the compiler (or minus its signal), what it printed, where its product lies."""

    status: int
    log: bytes
    artifact: str


def build(folder: str, entry: str, artifact: str, log_bytes: int, flags: Sequence[str]) -> Built:
    """Compile `entry` and every other file of its kind with the judge's flags; headers lie beside them."""
    suffix = Path(entry).suffix
    compiler = _nvcc() if suffix == ".cu" else shutil.which("g++")
    if compiler is None:
        raise SubmissionError("no_compiler", "nvcc" if suffix == ".cu" else "g++")
    ours = Path(__file__).parent
    sources = [entry, *sorted(path.name for path in Path(folder).glob(f"*{suffix}") if path.name != entry)]
    options = [*flags, f"-I{ours}", "-I."]
    command = [compiler, *options, *sources, str(ours / f"runner{suffix}"), "-o", artifact]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    log = _drain(process, log_bytes)
    process.stdout.close()
    return Built(process.wait(), log, artifact)


def _nvcc() -> str | None:
    return shutil.which("nvcc", path=f"{os.environ.get('PATH', os.defpath)}:{_CUDA_PLACES}")


def _drain(process: subprocess.Popen[bytes], limit: int) -> bytes:
    """What the compiler prints until it ends, up to the limit; more is read and dropped, so that it can end.

    A child that it leaves behind may hold the pipe open, and is not waited for.
    """
    assert process.stdout is not None
    descriptor, log = process.stdout.fileno(), bytearray()
    ended = os.pidfd_open(process.pid)
    try:
        while True:
            ready, _, _ = select.select([descriptor, ended], [], [])
            last = ended in ready
            # Once it has ended, no more is its own than one pipe holds.
            data = os.read(descriptor, _PIPE_BYTES) if descriptor in ready else b""
            log += data[: max(0, limit - len(log))]
            if last or not data:
                return bytes(log)
    finally:
        os.close(ended)
