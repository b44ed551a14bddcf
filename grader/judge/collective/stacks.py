"""Where each rank of a group is: the stack that its interpreter writes when it is asked, or when it dies."""

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from grader.plaintext import clean

LOOK_SECONDS = 1.0
"""For the stacks of all ranks to come in; one that is stopped writes nothing."""
_MOST_BYTES = 64 << 10
_MOST_READS = 4
_PAUSE_SECONDS = 0.02
_FRAME = re.compile(r'File "([^"]*)", line ([0-9]{1,9}) in (\S+)')
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)
_OWN = "/submission/"
_LIBRARY = "/torch/distributed/"


@dataclass(frozen=True)
class Stack:
    """The submission's own frames, innermost first, as `solution.py, line 7, in ring`; none if unknown.

    `waits`: it is in a send, a receive or a wait of torch.distributed. This is the candidate's word: it says
    whom a message names, and decides no more.
    """

    frames: tuple[str, ...] = ()
    waits: bool = False

    @property
    def at(self) -> str:
        """Where the rank is."""
        return self.frames[0] if self.frames else "?"


def parse(written: str, files: Mapping[str, bytes]) -> Stack:
    """The last stack in what a rank wrote. `files`: the submission's, for the line that it is at."""
    blocks = [_FRAME.findall(block) for block in _THREAD.split(written)[1:]]
    own = [block for block in blocks if any(_OWN in path for path, _, _ in block)]
    if not own:
        return Stack()
    block = own[-1]
    mine = [(path.rpartition(_OWN)[2], int(line), name) for path, line, name in block if _OWN in path]
    shown = tuple(f"{file}, line {line}, in {name}" for file, line, name in mine)
    inside = _OWN not in block[0][0]
    waits = any(_LIBRARY in path for path, _, _ in block) if inside else _is_wait(files, *mine[0][:2])
    return Stack(tuple(clean(frame, 200) for frame in shown), waits)


class Stacks:
    """The judge's ends: of the pipe on which it asks, and of those on which the ranks write."""

    def __init__(self, control: int, readers: list[int]) -> None:
        self._control = control
        self._readers = readers
        self._written = [bytearray() for _ in readers]
        for reader in readers:
            os.set_blocking(reader, False)

    def look(self, ranks: Iterable[int], files: Mapping[str, bytes]) -> dict[int, Stack]:
        """Ask all ranks, and wait a little for these to answer."""
        wanted = list(ranks)
        for rank in wanted:
            self._drain(rank)
            self._written[rank].clear()
        with suppress(OSError):
            os.write(self._control, b"?")
        deadline = time.monotonic() + LOOK_SECONDS
        found = {rank: Stack() for rank in wanted}
        while time.monotonic() < deadline and any(not stack.frames for stack in found.values()):
            time.sleep(_PAUSE_SECONDS)
            found = {rank: self.last(rank, files) for rank in wanted}
        return found

    def last(self, rank: int, files: Mapping[str, bytes]) -> Stack:
        """What a rank wrote last, which may have been when it died."""
        self._drain(rank)
        return parse(self._written[rank].decode("utf-8", "replace"), files)

    def close(self) -> None:
        """Close every end."""
        for descriptor in (self._control, *self._readers):
            with suppress(OSError):
                os.close(descriptor)
        self._readers = []
        self._control = -1

    def _drain(self, rank: int) -> None:
        if not self._readers:
            return
        kept = self._written[rank]
        for _ in range(_MOST_READS):  # Whoever writes without end must not keep the judge reading.
            try:
                data = os.read(self._readers[rank], _MOST_BYTES)
            except OSError:
                return
            if not data:
                return
            kept += data
            del kept[:-_MOST_BYTES]


def _is_wait(files: Mapping[str, bytes], name: str, line: int) -> bool:
    """Whether a line of the submission waits for a message by itself: `request.wait()`."""
    lines = files.get(name, b"").decode("utf-8", "replace").splitlines()
    return 0 < line <= len(lines) and ".wait(" in lines[line - 1]
