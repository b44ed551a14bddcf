"""What was said in the episode of a public case, so that it can be played again anywhere.

A transcript is lines of JSON: `open` (the regions), `write` (what the judge placed into one), `ask` (a
question, its answer, and the nanoseconds that it took), `read` (which region the judge read). In a Report it
travels compressed; of a long episode only the beginning does.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PACKED_CHARS = 64 << 10
"""Most characters of a packed transcript in a Report."""
MOST_BYTES = 16 << 20
"""Most bytes of an unpacked one."""
_FLUSH_BYTES = 16 << 10
_END_BYTES = 64


class TranscriptError(ValueError):
    """This is no transcript."""


@dataclass(frozen=True)
class Transcript:
    """The entries of an episode, in order; `complete` is false where the end did not fit."""

    case: str
    part: str
    params: Mapping[str, Any]
    entries: tuple[Mapping[str, Any], ...]
    complete: bool = True
    assignment: str = ""
    """Whoever writes the file knows it."""

    @property
    def file_name(self) -> str:
        """What its file is called."""
        return f"{self.case.rpartition('/')[2]}.jsonl"

    def dump(self) -> str:
        """As a file: a line that says what it is, then a line for each entry."""
        head = {
            "solmark_transcript": 1,
            "assignment": self.assignment,
            "case": self.case,
            "part": self.part,
            "params": dict(self.params),
            "complete": self.complete,
        }
        return "".join(_line(entry) for entry in (head, *self.entries))


@dataclass
class Recorder:
    """Notes the entries of one episode, compressed as they come, until no more fit into a Report."""

    _compressor: Any = field(default_factory=lambda: zlib.compressobj(6))
    _packed: list[bytes] = field(default_factory=list)
    _size: int = 0
    _held: int = 0
    _full: bool = False

    def note(self, entry: Mapping[str, Any]) -> None:
        """One more entry; nothing once it is full."""
        if self._full:
            return
        line = _line(entry).encode()
        if len(line) > MOST_BYTES // 4:
            self._full = True
            return
        before = self._compressor.copy()
        piece = self._compressor.compress(line)
        self._held += len(line)
        if self._held >= _FLUSH_BYTES:
            piece += self._compressor.flush(zlib.Z_SYNC_FLUSH)
            self._held = 0
        # What the compressor still holds is at most what it was given since the last flush.
        if self._size + len(piece) + self._held + _END_BYTES > PACKED_CHARS // 4 * 3:
            self._full, self._compressor = True, before
            return
        self._packed.append(piece)
        self._size += len(piece)

    def packed(self) -> str:
        """The entries so far, as a Report carries them; empty where there are none. Ends the recording."""
        end = self._compressor.flush()
        self._full, whole = True, not self._full
        data = b"".join([*self._packed, end])
        mark = "1" if whole else "0"
        return mark + base64.b64encode(data).decode() if self._size or len(end) > _EMPTY else ""


_EMPTY = len(zlib.compress(b""))


def unpack(
    packed: str, *, case: str, part: str, params: Mapping[str, Any], assignment: str = ""
) -> Transcript:
    """The transcript in a Report. Raises TranscriptError."""
    try:
        decompressor = zlib.decompressobj()
        data = decompressor.decompress(base64.b64decode(packed[1:], validate=True), MOST_BYTES)
        if not decompressor.eof:
            raise TranscriptError("no packed transcript: it is cut off, or too large")
        entries = tuple(json.loads(line) for line in data.decode("utf-8").splitlines())
    except (zlib.error, binascii.Error, ValueError) as error:
        raise TranscriptError(f"no packed transcript: {error}") from None
    return Transcript(case, part, params, entries, packed[:1] == "1", assignment)


def load(content: str) -> Transcript:
    """A transcript's file. Raises TranscriptError."""
    try:
        head, *entries = [json.loads(line) for line in content.splitlines() if line.strip()]
        if head["solmark_transcript"] != 1 or not all(isinstance(entry, dict) for entry in entries):
            raise TranscriptError("a transcript of another version")
        return Transcript(
            str(head["case"]),
            str(head["part"]),
            dict(head["params"]),
            tuple(entries),
            bool(head["complete"]),
            str(head["assignment"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise TranscriptError(f"this is no transcript: {error}") from None


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=True) + "\n"
