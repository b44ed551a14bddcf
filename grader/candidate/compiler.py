"""Compiles a C++ or CUDA submission together with our runner into one shared object."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .failures import SubmissionError

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
    log = _drain(process.stdout.fileno(), log_bytes)
    process.stdout.close()
    return Built(process.wait(), log, artifact)


def _nvcc() -> str | None:
    return shutil.which("nvcc", path=f"{os.environ.get('PATH', os.defpath)}:{_CUDA_PLACES}")


def _drain(descriptor: int, limit: int) -> bytes:
    """Everything up to the limit; what comes after is read and dropped, so that the compiler can end."""
    log = bytearray()
    while data := os.read(descriptor, 65536):
        log += data[: max(0, limit - len(log))]
    return bytes(log)
