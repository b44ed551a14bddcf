"""The two pipes between judge and candidate: frames of 4 bytes of length (little-endian) and a body.

Both ends of the judge are non-blocking. A whole message has one deadline, however it trickles in; no more is
ever read than the message that was asked for, so that what else lies in the pipe can be seen (`unread`).
"""

import os
import select
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field

from grader.contract import Verdict
from grader.judge.failure import CandidateFailure
from grader.judge.messages import MAX_FRAME
from grader.judge.monitor import TICK_SECONDS, Monitor
from grader.messages import text

LENGTH = struct.Struct("<I")
NONCE_BYTES = 16
GO = LENGTH.pack(20) + b"go  "
DONE = b"done"
"""`go` is GO and the nonce; the answer is a frame of DONE and the same nonce. Both are fixed, so that a
native loop reads and answers them without parsing."""


class Stalled(Exception):  # noqa: N818
    """The deadline of a message has passed."""


@dataclass
class Pipes:
    """The four ends of a channel; `commands` goes to the candidate, `answers` comes back."""

    commands_read: int
    commands_write: int
    answers_read: int
    answers_write: int

    @classmethod
    def open(cls) -> "Pipes":
        """Two new pipes; the judge's ends do not block."""
        commands_read, commands_write = os.pipe2(os.O_CLOEXEC)
        answers_read, answers_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(commands_write, False)
        os.set_blocking(answers_read, False)
        return cls(commands_read, commands_write, answers_read, answers_write)

    def close_candidate_ends(self) -> None:
        """After the candidate has its copies."""
        for name in ("commands_read", "answers_write"):
            self._close(name)

    def close_commands(self) -> None:
        """No more commands will come: the harness ends by itself."""
        self._close("commands_write")

    def close(self) -> None:
        """Close all ends that are still open."""
        for name in ("commands_read", "commands_write", "answers_read", "answers_write"):
            self._close(name)

    def _close(self, name: str) -> None:
        descriptor = getattr(self, name)
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
            setattr(self, name, -1)


@dataclass
class Channel:
    """Sends and receives whole frames, and lets the monitor see to the process meanwhile."""

    pipes: Pipes
    monitor: Monitor
    _partial: bytearray = field(default_factory=bytearray)

    def send(self, body: bytes, deadline: float) -> None:
        """Send one frame. Raises Stalled, or CandidateFailure as the monitor finds."""
        if not 0 < len(body) <= MAX_FRAME:
            raise ValueError(f"a message of {len(body)} bytes; at most {MAX_FRAME} are sent")
        self.send_raw(LENGTH.pack(len(body)) + body, deadline)

    def send_raw(self, frame: bytes, deadline: float) -> None:
        """Send bytes that are framed already."""
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self.pipes.commands_write, rest) :]
            except BlockingIOError:
                self._wait(self.pipes.commands_write, select.POLLOUT, deadline)
            except BrokenPipeError:
                raise self.monitor.ended() from None

    def receive(self, deadline: float) -> bytes:
        """The body of the next frame. Raises Stalled, or CandidateFailure as the monitor finds."""
        while True:
            body = self._take()
            if body is not None:
                return body
            self._wait(self.pipes.answers_read, select.POLLIN, deadline)

    def spin(self, seconds: float) -> bytes | None:
        """The next frame's body if it comes within so short a time, without going to sleep."""
        end = time.monotonic() + seconds
        while (body := self._take()) is None and time.monotonic() < end:
            pass
        return body

    def unread(self) -> bool:
        """Whether bytes wait that nobody asked for."""
        if self._partial:
            return True
        poll = select.poll()
        poll.register(self.pipes.answers_read, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def _take(self) -> bytes | None:
        """Read what the current frame still lacks; its body once it is whole."""
        while True:
            if len(self._partial) < LENGTH.size:
                missing = LENGTH.size - len(self._partial)
            else:
                (size,) = LENGTH.unpack_from(self._partial)
                if not 0 < size <= MAX_FRAME:
                    raise violation(f"a message of {size} bytes; at most {MAX_FRAME} are read")
                missing = LENGTH.size + size - len(self._partial)
            if not missing:
                body = bytes(self._partial[LENGTH.size :])
                self._partial.clear()
                return body
            try:
                data = os.read(self.pipes.answers_read, missing)
            except BlockingIOError:
                return None
            if not data:
                raise self.monitor.ended()
            self._partial += data

    def _wait(self, descriptor: int, events: int, deadline: float) -> None:
        """Until the descriptor is ready or a tick has passed; sees to the process."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Stalled
        poll = select.poll()
        for other in self.monitor.descriptors():
            poll.register(other, select.POLLIN)
        poll.register(descriptor, events)
        ready = {number for number, _ in poll.poll(max(1.0, min(left, TICK_SECONDS) * 1000))}
        ended = self.monitor.service(ready, look=descriptor not in ready)
        if ended and descriptor not in ready:
            # It may have answered before it ended: then its pipe is ready too.
            raise self.monitor.ended()


def violation(detail: str) -> CandidateFailure:
    """The candidate broke the protocol, which our harness never does."""
    return CandidateFailure(Verdict.SANDBOX_VIOLATION, text("protocol", detail=detail))
