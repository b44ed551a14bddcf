"""Follows one submission: its progress from the broker, its state from the database, until that is final.

A reader that comes back with the id of the last event it saw gets what came after it. The broker may be away,
or may have lost its data: the state, asked for at least every two seconds, still arrives.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import structlog
from redis import asyncio as redis_async
from redis.exceptions import RedisError

from server.grading.progress import Entry, encode, position, read_after

STATE_SECONDS = 2.0
"""The database is asked at least this often."""
COMMENT_SECONDS = 15.0
"""A comment goes out after so long a silence, so that no proxy closes the connection."""
State = Mapping[str, Any]
"""The state as JSON; its key `final` says whether anything more will come."""
log = structlog.get_logger(__name__)


async def follow(
    broker: "redis_async.Redis | None",
    submission: str,
    last_event_id: str | None,
    state: Callable[[], Awaitable[State]],
) -> AsyncIterator[bytes]:
    """Server-sent events: `state` when it changes, `progress` (with id) as it happens, `final` at the end.

    Without a broker there is no progress, only states.
    """
    last = position(last_event_id)
    known: State | None = None
    spoken = time.monotonic()
    while True:
        current = await state()
        if current["final"]:
            while entries := await _entries(broker, submission, last, None):
                last = entries[-1].id
                for entry in entries:
                    if entry.event is not None:
                        yield _progress(entry)
            yield encode("final", current)
            return
        if current != known:
            known, spoken = current, time.monotonic()
            yield encode("state", current)
        asked = time.monotonic()
        while (left := asked + STATE_SECONDS - time.monotonic()) > 0:
            entries = await _entries(broker, submission, last, left)
            for entry in entries:
                last, spoken = entry.id, time.monotonic()
                if entry.event is not None:
                    yield _progress(entry)
            if any(entry.event is None and entry.readable for entry in entries):
                break
        if time.monotonic() - spoken > COMMENT_SECONDS:
            spoken = time.monotonic()
            yield b": waiting\n\n"


def _progress(entry: Entry) -> bytes:
    assert entry.event is not None
    return encode("progress", entry.event.model_dump(mode="json"), entry.id)


async def _entries(
    broker: "redis_async.Redis | None", submission: str, last: str, block_seconds: float | None
) -> list[Entry]:
    try:
        if broker is not None:
            return await read_after(broker, submission, last, block_seconds)
    except (RedisError, OSError) as error:
        log.warning("events not read", submission=submission, cause=str(error))
    if block_seconds is not None:
        await asyncio.sleep(block_seconds)
    return []
