"""Frames on the two pipes: 4 bytes of length (little-endian), then JSON.

`go` and `done` have a fixed form instead, so that a native loop can read and write them: length 20, the word
`go  ` or `done`, and the judge's nonce of 16 bytes.
"""

import json
import os
import struct
from typing import Any

COMMANDS, ANSWERS = 3, 4
_LENGTH = struct.Struct("<I")
ROUND_FRAME = 24
GO = _LENGTH.pack(20) + b"go  "
DONE = _LENGTH.pack(20) + b"done"
NONCE = slice(8, 24)


def receive() -> dict[str, Any] | None:
    """The next command, None when the judge has closed the pipe."""
    head = _exactly(_LENGTH.size)
    if head is None:
        return None
    body = _exactly(_LENGTH.unpack(head)[0])
    if body is None:
        return None
    command: dict[str, Any] = json.loads(body)
    return command


def send(message: dict[str, Any], answers: int = ANSWERS) -> None:
    """Answer the judge."""
    body = json.dumps(message).encode()
    rest = memoryview(_LENGTH.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(answers, rest) :]


def _exactly(size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(COMMANDS, size - len(data))
        if not part:
            return None
        data += part
    return data
