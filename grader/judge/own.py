"""Candidates of our own, in the same sandbox and timed by the same clock as any other: for calibration."""

from dataclasses import dataclass

from grader.contract import Language
from grader.judge import cores
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.sandbox.base import Backend, Limits, SandboxError

BUILD_SECONDS = 60.0


@dataclass(frozen=True)
class OwnCandidate:
    """A program ready to be started any number of times: native where there is g++, else Python."""

    backend: Backend
    files: dict[str, bytes]
    artifact: bytes | None

    @classmethod
    def build(cls, backend: Backend, native: bytes, python: bytes) -> "OwnCandidate":
        """From the same function `solve` in C++ and in Python. Raises SandboxError."""
        files = {"solution.cpp": native}
        with Client.start(
            backend,
            Limits(),
            arena_bytes=BUILD_ARENA_BYTES,
            language=Language.CPP,
            cpus=cores.choose().candidate,
        ) as client:
            try:
                built = client.build(files, "solution.cpp", BUILD_SECONDS)
            except SandboxError:  # There is no g++ here.
                return cls(backend, {"solution.py": python}, None)
        if built.status != 0:
            raise SandboxError(f"our own candidate does not compile: {built.log.decode(errors='replace')}")
        return cls(backend, files, built.artifact)

    def start(self, arena_bytes: int) -> Client:
        """A fresh sandbox with the program loaded. Raises SandboxError."""
        language = Language.PYTHON if self.artifact is None else Language.CPP
        client = Client.start(
            self.backend,
            Limits(),
            arena_bytes=arena_bytes,
            language=language,
            cpus=cores.choose().candidate,
        )
        try:
            client.load(self.files, "solve", next(iter(self.files)), self.artifact)
        except BaseException:
            client.close()
            raise
        return client
