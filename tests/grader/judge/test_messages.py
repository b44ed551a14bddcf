"""What a candidate may say: everything else is refused, and no text of its comes through unclean."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.judge.messages import Built, Done, Failed, ProtocolError, Reply, decode
from grader.plaintext import clean

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy."""
ID = "0123456789abcdef" * 2


def _encoded(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_messages_are_read() -> None:
    assert decode(_encoded(type="called", id=ID)) == Done(type="called", id=ID)
    built = decode(_encoded(type="built", id=ID, status=-9, log_bytes=0, artifact_bytes=3))
    assert isinstance(built, Built)
    reply = decode(_encoded(type="reply", id=ID, value={"a\x00": ["\x1b[1mb", 1 - (1 << 63)]}, raised=None))
    assert isinstance(reply, Reply)
    assert reply.value == {"a\ufffd": ["b", 1 - (1 << 63)]}
    failed = decode(_encoded(type="failed", id=ID, kind="exception", text="\x1b[31mred\x00", number=None))
    assert isinstance(failed, Failed)
    assert failed.text == "red\ufffd"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"called"',
        b"\xff\xfe",
        b"{",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        _encoded(type="called"),
        _encoded(type="called", id=ID.upper()),
        _encoded(type="called", id=ID, extra=1),
        _encoded(type="ready!", id=ID),
        b'{"type": "called", "type": "armed", "id": "%b"}' % ID.encode(),
        b'{"type": "built", "id": "%b", "status": NaN, "log_bytes": 0, "artifact_bytes": 0}' % ID.encode(),
        b'{"type": "built", "id": "%b", "status": 1e999, "log_bytes": 0, "artifact_bytes": 0}' % ID.encode(),
        _encoded(type="built", id=ID, status=True, log_bytes=0, artifact_bytes=0),
        _encoded(type="built", id=ID, status=0, log_bytes=-1, artifact_bytes=0),
        _encoded(type="built", id=ID, status="0", log_bytes=0, artifact_bytes=0),
        _encoded(type="built", id=ID, status=0, log_bytes=0.0, artifact_bytes=0),
        b'{"type": "built", "id": "%b", "status": 0, "log_bytes": %b, "artifact_bytes": 0}'
        % (ID.encode(), b"9" * 5000),
        _encoded(type="failed", id=ID, kind="accepted", text=""),
        _encoded(type="failed", id=ID, kind="status", text="", number=1 << 31),
        _encoded(type="failed", id=ID, kind="status", text=""),
        _encoded(type="failed", id=ID, kind="answer_size", text="", number=None),
        _encoded(type="failed", id=ID, kind="exception", text="", number=3),
        _encoded(type="failed", id=ID, kind="exception", text=["x"]),
        b'{"type": "reply", "id": "%b", "value": 1e999, "raised": null}' % ID.encode(),
        b'{"type": "reply", "id": "%b", "value": [-1e999], "raised": null}' % ID.encode(),
        b'{"type": "reply", "id": "%b", "value": NaN, "raised": null}' % ID.encode(),
        b'{"type": "reply", "id": "%b", "value": %b, "raised": null}' % (ID.encode(), b"[" * 99 + b"]" * 99),
        _encoded(type="reply", id=ID, value={"a": [10**400]}, raised=None),
        _encoded(type="reply", id=ID, value=-(1 << 63), raised=None),
        _encoded(type="reply", id=ID, value=1),
        _encoded(type="reply", id=ID, value=1, raised="ValueError"),
        _encoded(type="reply", id=ID, value=1, raised={"kind": "E", "text": "x" * 1001, "trace": ""}),
    ],
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError) as raised:
        decode(body)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


@PATIENT
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    said = ""
    try:
        decode(body)
    except ProtocolError as refused:
        said = str(refused)
    assert said.isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@PATIENT
@given(
    st.dictionaries(
        st.sampled_from(["type", "id", "kind", "text", "number", "status", "log_bytes", "artifact_bytes"]),
        JSON | st.sampled_from(["called", "built", "failed", "ready", ID]),
    )
)
def test_near_messages_are_read_or_refused(fields: dict[str, Any]) -> None:
    try:
        message = decode(json.dumps(fields).encode())
    except ProtocolError:
        return
    # What is read says exactly what was sent: nothing was coerced.
    assert {key: value for key, value in message.model_dump().items() if key in fields} == {
        key: clean(value) if isinstance(value, str) else value for key, value in fields.items()
    }
