"""Candidates of our own, in the same sandbox and timed by the same clock as any other: for calibration."""

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.contract import Language
from grader.hardware.profile import data_folder
from grader.judge import cores
from grader.judge.client import BUILD_ARENA_BYTES, HARNESS, Client
from grader.judge.gpu.device import Device
from grader.sandbox.base import Backend, Limits, SandboxError

BUILD_SECONDS = 60.0
DEVICE_MEMORY_BYTES = 16 << 30
"""Of the host, for a candidate on a device: the driver's libraries and its pinned memory count."""


@dataclass(frozen=True)
class OwnCandidate:
    """A program ready to be started any number of times: native where there is g++, else Python."""

    backend: Backend
    files: dict[str, bytes]
    artifact: bytes | None
    device: Device | None = None

    @classmethod
    def build(
        cls,
        backend: Backend,
        native: bytes,
        python: bytes,
        device: Device | None = None,
        *,
        kept: bool = False,
    ) -> "OwnCandidate":
        """From the same function `solve` in C++ (CUDA for a device) and in Python. Raises SandboxError.

        `kept`: what was compiled once is used again, since nvcc takes seconds. It only ever runs in a
        sandbox.
        """
        name, language = "solution.cpp", Language.CPP
        flags: tuple[str, ...] = ()
        if device is not None:
            name, language, flags = "solution.cu", Language.CUDA, device.compiler_flags
        files = {name: native}
        place = _place(native, flags) if kept else None
        if place is not None and place.is_file():
            return cls(backend, files, place.read_bytes(), device)
        with Client.start(
            backend,
            Limits(),
            arena_bytes=BUILD_ARENA_BYTES,
            language=language,
            cpus=cores.choose().candidate,
        ) as client:
            try:
                built = client.build(files, name, BUILD_SECONDS, flags)
            except SandboxError:  # There is no compiler here.
                return cls(backend, {"solution.py": python}, None, device)
        if built.status != 0:
            raise SandboxError(f"our own candidate does not compile: {built.log.decode(errors='replace')}")
        if place is not None:
            _keep(place, built.artifact)
        return cls(backend, files, built.artifact, device)

    def start(self, arena_bytes: int) -> Client:
        """A fresh sandbox with the program loaded. Raises SandboxError."""
        language = Language.CPP if self.device is None else Language.CUDA
        if self.artifact is None:
            language = Language.PYTHON
        client = Client.start(
            self.backend,
            Limits() if self.device is None else replace(Limits(), memory_bytes=DEVICE_MEMORY_BYTES),
            arena_bytes=arena_bytes if self.device is None else 1,
            language=language,
            cpus=cores.choose().candidate,
            device=self.device,
            device_bytes=arena_bytes,
        )
        try:
            client.load(self.files, "solve", next(iter(self.files)), self.artifact)
        except BaseException:
            client.close()
            raise
        return client


def _place(source: bytes, flags: tuple[str, ...]) -> Path:
    """Where the compiled program is kept: by what it is made of, our runner and headers included."""
    digest = hashlib.sha256(source + repr(flags).encode())
    for name in ("runner.cu", "runner.cpp", "solmark.h"):
        digest.update((HARNESS / name).read_bytes())
    return data_folder() / f"own-{digest.hexdigest()[:16]}.so"


def _keep(place: Path, artifact: bytes) -> None:
    """Write it whole or not at all; where it cannot be written it is compiled again the next time."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor, scratch = tempfile.mkstemp(prefix=f".{place.name}-", dir=place.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(artifact)
        Path(scratch).replace(place)
