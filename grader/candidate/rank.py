"""The harness of one rank alone: a submission whose messages the judge carries, on numpy arrays.

numpy instead of torch: eight ranks then start in half a second, and none of them computes much.
"""

import faulthandler
import platform
from pathlib import Path
from typing import Any

import numpy as np

from . import frames
from .arena import Arena, Placed, Slots
from .comm import Aborted, Comm, Wire
from .failures import SubmissionError
from .harness import FOLDER, Harness
from .python_code import PythonCode

_DUMP_SHARE = 0.8
"""Of the time of a call: then a rank that hangs writes where it is, before the judge ends it."""
_STDERR = 2


class RankArena(Arena):
    """Arguments as numpy arrays, behind a `Comm`."""

    comm: Comm | None = None

    def arguments(self, slots: Slots) -> list[tuple[Any, ...]]:
        """For each slot the communicator and its arrays."""
        return [
            (
                self.comm,
                *(
                    self._array(slots.start + index * slots.stride + placed.start, placed)
                    for placed in slots.tensors
                ),
            )
            for index in range(slots.count)
        ]

    def region(self, start: int, size: int) -> "np.ndarray[Any, Any]":
        """Bytes of the arena."""
        return np.frombuffer(self.memory, np.uint8, size, start)

    def _array(self, start: int, placed: Placed) -> "np.ndarray[Any, Any]":
        dtype = np.dtype(placed.dtype)
        if 0 in placed.shape:
            return np.empty(placed.shape, dtype)
        flat = np.frombuffer(self.memory, dtype, placed.span // dtype.itemsize, start)
        strides = tuple(stride * dtype.itemsize for stride in placed.strides)
        return np.lib.stride_tricks.as_strided(flat[placed.offset :], placed.shape, strides)


class RankHarness(Harness):
    """One rank, from its files to its calls."""

    def __init__(self) -> None:
        self._arena: RankArena = RankArena()
        self._code: PythonCode = PythonCode(self._arena, FOLDER)
        self._wire: Wire | None = None
        Path(FOLDER).mkdir(exist_ok=True)

    def _obey(self, kind: str, command: dict[str, Any]) -> None:
        if kind == "join":
            self._join(command)
        elif kind == "call":
            self._calls(command)
        else:
            super()._obey(kind, command)

    def _join(self, command: dict[str, Any]) -> None:
        size = command["bytes"]
        out, into = (self._arena.region(command[name], size) for name in ("out", "into"))
        self._wire = Wire(out, into, FOLDER)
        network = command["alpha_ns"], command["byte_ns"]
        self._arena.comm = Comm(self._wire, command["members"], command["rank"], *network)
        frames.send({"type": "opened", "id": command["id"]})

    def _calls(self, command: dict[str, Any]) -> None:
        assert self._wire is not None
        self._wire.begin(command["id"])
        faulthandler.dump_traceback_later(_DUMP_SHARE * command["seconds"], file=_STDERR)
        try:
            for slot in range(command["calls"]):
                self._code.call(slot)
        except Aborted:
            raise SubmissionError("aborted") from None
        except SubmissionError as error:
            if isinstance(error.__cause__, Aborted):
                raise SubmissionError("aborted") from None
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        frames.send({"type": "called", "id": command["id"]})


def main() -> None:
    """Start, say so, obey."""
    faulthandler.enable(_STDERR)
    harness = RankHarness()
    frames.send({"type": "ready", "python": platform.python_version(), "torch": "", "triton": ""})
    harness.run()


if __name__ == "__main__":
    main()
