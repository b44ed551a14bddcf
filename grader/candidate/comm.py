"""How a rank talks to the others where bytes are priced: the judge carries every message.

The rank's own copy of a message goes through its arena, one at a time; what it says of it is a frame. A send
never waits for its receiver; a receive waits for the next message of one named rank.
"""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from . import frames

Array: TypeAlias = "np.ndarray[Any, Any]"
_FRAMES_SHOWN = 3
_WHERE_CHARS = 400


class CommError(ValueError):
    """A call of `comm` that cannot be right; the text says why."""

    __module__ = "builtins"  # In messages its bare name.


class Aborted(BaseException):
    """Another rank has failed, or this one asked for what cannot be: the call is over."""


class Wire:
    """One rank's exchange with the judge. `out` and `into` are its two regions of the arena, as bytes."""

    def __init__(self, out: Array, into: Array, folder: str) -> None:
        self._out = out
        self._in = into
        self._folder = folder
        self.identity = ""
        """Of the call that is going on."""
        self._over = False

    def begin(self, identity: str) -> None:
        """A call begins."""
        self.identity, self._over = identity, False

    def send(self, to: int, named: int, values: Array) -> None:
        """Hand a message over; the judge decides whether it goes."""
        size = values.nbytes
        if size <= self._out.nbytes:
            self._out[:size] = values.reshape(-1).view(np.uint8)
        self._ask({"type": "send", "to": to, "named": named, "bytes": size})

    def receive(self, source: int, named: int) -> Array:
        """The next message from a rank, as bytes that the next receive overwrites."""
        size: int = self._ask({"type": "receive", "source": source, "named": named})["bytes"]
        return self._in[:size]

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._over:
            raise Aborted
        frames.send({**message, "id": self.identity, "where": self._where()})
        reply = frames.receive()
        if reply is None:
            raise SystemExit(0)  # The judge has closed the channel.
        if reply["type"] == "abort":
            self._over = True
            raise Aborted
        return reply

    def _where(self) -> str:
        """The submission's own frames, innermost first: `solution.py, line 7, in ring`."""
        shown: list[str] = []
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 (the one way to see who calls)
        while frame is not None and len(shown) < _FRAMES_SHOWN:
            code = frame.f_code
            if code.co_filename.startswith(self._folder):
                name = code.co_filename.removeprefix(self._folder).lstrip("/")
                shown.append(f"{name}, line {frame.f_lineno}, in {code.co_name}")
            frame = frame.f_back
        return "; called from ".join(shown)[:_WHERE_CHARS]


class Comm:
    """A group of ranks, as one of them sees it: `rank` of `size`.

    `alpha_ns` is what a message to another rank costs, `byte_ns` what each byte of it does: constants of the
    network for choosing between algorithms. (On an uneven network they are those of the dearest path.)
    """

    def __init__(
        self, wire: Wire, members: Sequence[int], rank: int, alpha_ns: float, byte_ns: float
    ) -> None:
        self._wire = wire
        self._members = tuple(members)
        self.rank = rank
        self.size = len(self._members)
        self.alpha_ns = alpha_ns
        self.byte_ns = byte_ns

    def send(self, to: int, array: Any) -> None:
        """Send the elements of an array, in row-major order. Never waits for the receiver."""
        values = np.ascontiguousarray(array)
        if values.dtype.hasobject:
            raise CommError(f"send: an array of numbers is needed, not {type(array).__name__}")
        named = _whole(to, "send")
        self._wire.send(self._global(named), named, values)

    def recv(self, source: int, into: Any) -> None:
        """Wait for the next message from a rank and write it into `into`, which must have as many bytes."""
        if not isinstance(into, np.ndarray):
            raise CommError(f"recv: into is a {type(into).__name__}; a numpy array is needed")
        named = _whole(source, "recv")
        data = self._wire.receive(self._global(named), named)
        if data.nbytes != into.nbytes:
            raise CommError(
                f"recv: the message from rank {named} has {data.nbytes} bytes, into has {into.nbytes}"
            )
        into[...] = data.view(into.dtype).reshape(into.shape)

    def take(self, source: int, dtype: Any) -> Array:
        """Wait for the next message from a rank, of whatever size, and return it as a new flat array."""
        named = _whole(source, "take")
        data = self._wire.receive(self._global(named), named)
        item = np.dtype(dtype).itemsize
        if data.nbytes % item:
            raise CommError(
                f"take: the message from rank {named} has {data.nbytes} bytes, no multiple of {item}"
            )
        return data.copy().view(dtype)

    def split(self, members: Sequence[int]) -> "Comm":
        """The group of some ranks of this one, which must include this rank; nothing is sent for it."""
        chosen = [_whole(member, "split") for member in members]
        wrong = [member for member in chosen if not 0 <= member < self.size]
        if wrong or self.rank not in chosen or len(set(chosen)) != len(chosen):
            raise CommError(
                f"split: {chosen} must be different ranks of 0 to {self.size - 1}, {self.rank} included"
            )
        mine = [self._members[member] for member in chosen]
        return Comm(self._wire, mine, chosen.index(self.rank), self.alpha_ns, self.byte_ns)

    def _global(self, named: int) -> int:
        return self._members[named] if 0 <= named < self.size else -1


def _whole(number: Any, call: str) -> int:
    try:
        whole = int(number)
    except (TypeError, ValueError):
        raise CommError(f"{call}: {number!r} is no rank") from None
    if whole != number or not -(1 << 31) <= whole < 1 << 31:
        raise CommError(f"{call}: {number!r} is no rank")
    return whole
