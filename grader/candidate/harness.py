"""The candidate's main loop: takes commands from the judge, one answer each, until the pipe is closed."""

import base64
import importlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

from . import frames
from .arena import Arena, Slots
from .compiler import build
from .device import DeviceArena
from .dialogue import Dialogue
from .failures import SubmissionError, of_exception
from .graph_code import GraphCode
from .native_code import NativeCode
from .profiler import profile
from .python_code import PythonCode

NATIVE = ("cpp", "cuda")
DIALECTS = {"triton": "triton", "tilelang": "tilelang", "cute": "cutlass.cute"}
"""Languages inside Python, and the module of each: `grader.dialects`, which the sandbox has not."""
_TEMPORARY = os.environ["TMPDIR"]
"""This sandbox's alone: a file system of its own, or at least a folder."""
FOLDER = f"{_TEMPORARY}/submission"
ARTIFACT = f"{_TEMPORARY}/submission.so"
ADAPTER = f"{_TEMPORARY}/solmark_adapter.py"


class Harness:
    """One submission, from its files to its calls."""

    def __init__(self, language: str, device_bytes: int) -> None:
        self._arena = Arena()
        tensors = self._tensors = DeviceArena(device_bytes) if device_bytes else self._arena
        self._code: NativeCode | PythonCode
        if language in NATIVE:
            self._code = NativeCode(tensors, ARTIFACT)
        elif device_bytes:
            self._code = GraphCode(tensors, FOLDER)
        else:
            self._code = PythonCode(tensors, FOLDER)
        self._dialogue = Dialogue(self._arena, FOLDER, ADAPTER)
        Path(FOLDER).mkdir(exist_ok=True)

    def run(self) -> None:
        """Until the judge closes the pipe."""
        while (command := frames.receive()) is not None:
            kind = command["type"]
            if kind in ("file", "artifact", "adapter"):
                self._take(kind, command)
                continue
            try:
                self._obey(kind, command)
            except (SystemExit, OSError):  # Ours: the judge has closed the channel.
                raise
            except BaseException as error:  # noqa: BLE001 (an object of student code that raises on any touch)
                found = of_exception(error, FOLDER, "exception")
                failed = {"kind": found.kind, "text": found.text, "number": found.number}
                frames.send({"type": "failed", "id": command["id"], **failed})

    def _take(self, kind: str, command: dict[str, Any]) -> None:
        ours = {"artifact": ARTIFACT, "adapter": ADAPTER}
        path = ours.get(kind) or f"{FOLDER}/{command['name']}"
        with Path(path).open("ab") as file:
            file.write(base64.b64decode(command["data"]))

    def _obey(self, kind: str, command: dict[str, Any]) -> None:
        identity = command["id"]
        if kind == "load":
            self._code.load(command["entry"], command["file"])
            frames.send({"type": "loaded", "id": identity})
        elif kind == "bind":
            self._code.bind(Slots.of(command), command["entry"])
            frames.send({"type": "bound", "id": identity})
        elif kind == "call":
            self._code.call(command["slot"])
            frames.send({"type": "called", "id": identity})
        elif kind == "arm":
            remark = self._code.prepare_round(command["calls"])
            frames.send({"type": "armed", "id": identity, "remark": remark})
            self._code.round(command["calls"])
        elif kind == "open":
            self._dialogue.open(command["regions"])
            frames.send({"type": "opened", "id": identity})
        elif kind == "ask":
            assert isinstance(self._code, PythonCode)
            reply = self._dialogue.answer(self._code.module, command["method"], command["message"])
            frames.send({"type": "reply", "id": identity, **reply})
        elif kind == "profile":
            found = profile(
                self._code.call,
                command["slot"],
                command["calls"],
                on_device=isinstance(self._tensors, DeviceArena),
                binaries=_binaries(),
            )
            frames.send({"type": "reply", "id": identity, "value": found, "raised": None})
        elif kind == "build":
            self._build(command)

    def _build(self, command: dict[str, Any]) -> None:
        built = build(FOLDER, command["file"], ARTIFACT, command["log_bytes"], command["flags"])
        artifact = Path(ARTIFACT).read_bytes() if built.status == 0 else b""
        if len(artifact) > command["artifact_bytes"]:
            raise SubmissionError("artifact_size")
        memory = self._arena.memory
        memory[: len(built.log)] = built.log
        start = command["log_bytes"]
        memory[start : start + len(artifact)] = artifact
        frames.send(
            {
                "type": "built",
                "id": command["id"],
                "status": built.status,
                "log_bytes": len(built.log),
                "artifact_bytes": len(artifact),
            }
        )


def _binaries() -> list[Path]:
    """Machine code of the device that the submission has made: its own object, and what Triton compiled."""
    cache = os.environ.get("TRITON_CACHE_DIR")
    compiled = sorted(Path(cache).rglob("*.cubin")) if cache else []
    return [path for path in (Path(ARTIFACT), *compiled) if path.exists()]


def _versions(language: str, *, on_device: bool) -> dict[str, str]:
    """Import what the language needs, before any student code and outside any limit on it."""
    versions = {"python": platform.python_version(), "torch": "", "triton": ""}
    if language not in NATIVE:
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        versions["torch"] = str(torch.__version__)
        if on_device:
            torch.zeros(1, device="cuda")
            torch.cuda.synchronize()
    if language in DIALECTS:
        module = importlib.import_module(DIALECTS[language])
        if language == "triton":
            versions["triton"] = str(module.__version__)
    return versions


def main(language: str, device_bytes: int) -> None:
    """Start, say so, obey. `device_bytes`: size of the arena on a device, 0 where there is none."""
    versions = _versions(language, on_device=device_bytes > 0)
    harness = Harness(language, device_bytes)
    frames.send({"type": "ready", **versions})
    harness.run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
