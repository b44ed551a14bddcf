"""Whatever a candidate writes into its pipe, the judge reads a message or says that it is none."""

import json
import os
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any, cast

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.judge.channel import LENGTH, Channel, Pipes, Stalled
from grader.judge.failure import CandidateFailure
from grader.judge.messages import MAX_FRAME, ProtocolError, Reply, decode
from grader.judge.monitor import Monitor

FUZZ = settings.get_profile("fuzz")
ID = "0123456789abcdef" * 2
VALID = [
    {"type": "ready", "python": "3.11", "torch": "2", "triton": ""},
    *({"type": kind, "id": ID, "remark": ""} for kind in ("loaded", "bound", "called", "armed", "opened")),
    {"type": "built", "id": ID, "status": 0, "log_bytes": 1, "artifact_bytes": 2},
    {"type": "failed", "id": ID, "kind": "exception", "text": "ValueError", "number": None},
    {"type": "failed", "id": ID, "kind": "status", "text": "", "number": 3},
    {"type": "reply", "id": ID, "value": {"a": [1, 2.5, None, "x"]}, "raised": None},
    {"type": "reply", "id": ID, "value": None, "raised": {"kind": "E", "text": "t", "trace": "…"}},
]
TEXT = st.text(st.characters(), max_size=30)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def _read(body: bytes) -> None:
    """Read a body; what is read must be clean, what is refused must say so in words of ours."""
    said = ""
    try:
        _check_clean(decode(body).model_dump())
    except ProtocolError as refused:
        said = str(refused)
    assert said.isprintable()
    assert len(said) < 500


def _check_clean(value: Any, depth: int = 0) -> None:
    assert depth < 100
    if isinstance(value, str):
        value.encode("utf-8")
        bad = [c for c in value if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\t\n"]
        assert not bad
        assert not set(value) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    elif isinstance(value, float):
        assert abs(value) < float("inf")
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        assert abs(value) < 1 << 63
    else:
        inner = [part for item in value.items() for part in item] if isinstance(value, Mapping) else value
        for item in inner:
            _check_clean(item, depth + 1)


@FUZZ
@given(st.binary(max_size=400))
def test_any_bytes(body: bytes) -> None:
    _read(body)


@FUZZ
@given(JSON)
def test_any_json(value: Any) -> None:
    _read(json.dumps(value).encode())


@FUZZ
@given(st.sampled_from(VALID), st.data())
def test_a_message_of_which_a_field_is_changed(valid: dict[str, Any], data: st.DataObject) -> None:
    message = dict(valid)
    for _ in range(data.draw(st.integers(1, 3))):
        field = data.draw(st.sampled_from([*sorted(message), "extra"]))
        if data.draw(st.booleans()):
            message.pop(field, None)
        else:
            message[field] = data.draw(JSON)
    _read(json.dumps(message).encode())


@FUZZ
@given(st.sampled_from(VALID), st.data())
def test_a_message_of_which_bytes_are_changed(valid: dict[str, Any], data: st.DataObject) -> None:
    body = bytearray(json.dumps(valid).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        piece = data.draw(
            st.binary(max_size=4) | st.sampled_from([b'"', b"\\u0000", b"\\ud800", b"[", b"1e999"])
        )
        body[at : at + data.draw(st.integers(0, 3))] = piece
        assume(body)
    _read(bytes(body))


@FUZZ
@given(st.integers(1, 3000), st.sampled_from(["[", '{"a":', '[{"b":']), st.booleans())
def test_nesting(depth: int, opener: str, closed: bool) -> None:
    close = {"[": "]", '{"a":': "}", '[{"b":': "}]"}[opener]
    value = opener * depth + "1" + (close * depth if closed else "")
    _read(f'{{"type": "reply", "id": "{ID}", "raised": null, "value": {value}}}'.encode())


@FUZZ
@given(JSON)
def test_a_reply_means_what_was_sent(value: Any) -> None:
    body = json.dumps({"type": "reply", "id": ID, "value": value, "raised": None}).encode()
    try:
        reply = decode(body)
    except ProtocolError:
        return
    assert isinstance(reply, Reply)
    again = json.dumps({"type": "reply", "id": ID, "value": reply.value, "raised": None}).encode()
    assert decode(again) == reply  # Cleaning is done once and for all.


class _Idle:
    """A process of which nothing is to be seen but its pipe."""

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def service(self, ready: object, *, look: bool = True) -> bool:
        return False

    def ended(self) -> CandidateFailure:
        raise EOFError


@contextmanager
def _channel(stream: bytes) -> Iterator[Channel]:
    pipes = Pipes.open()
    try:
        os.set_blocking(pipes.answers_write, False)
        os.write(pipes.answers_write, stream)
        yield Channel(pipes, cast("Monitor", _Idle()))
    finally:
        pipes.close()


@FUZZ
@given(st.lists(st.binary(min_size=1, max_size=200), max_size=5), st.binary(max_size=3))
def test_frames_come_out_as_they_went_in_however_many(bodies: list[bytes], rest: bytes) -> None:
    stream = b"".join(LENGTH.pack(len(body)) + body for body in bodies)
    with _channel(stream + rest) as channel:
        assert channel.unread() == bool(bodies or rest)
        assert [channel.receive(monotonic() + 60) for _ in bodies] == bodies
        assert channel.unread() == bool(rest)
        try:
            channel.receive(monotonic() - 1)
        except Stalled:
            pass
        else:
            raise AssertionError("a message out of nothing")


@FUZZ
@given(st.binary(max_size=300))
def test_any_stream_is_frames_a_violation_or_not_whole(stream: bytes) -> None:
    with _channel(stream) as channel:
        at = 0
        while True:
            try:
                body = channel.receive(monotonic() - 1)
            except Stalled:
                size = LENGTH.unpack_from(stream, at)[0] if len(stream) - at >= LENGTH.size else 0
                assert at + LENGTH.size + size > len(stream) or at + LENGTH.size > len(stream)
                return
            except CandidateFailure:
                assert not 0 < LENGTH.unpack_from(stream, at)[0] <= MAX_FRAME
                return
            assert stream[at + LENGTH.size :].startswith(body)
            at += LENGTH.size + len(body)
