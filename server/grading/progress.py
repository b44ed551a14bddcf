"""Reads the capped stream of a submission's progress from the broker."""

import json
import re
from dataclasses import dataclass
from typing import Any

import redis
from redis import asyncio as redis_async

from grader.contract import EVENTS_KEPT, ContractError, Event, events_key, read

START = "0-0"
ENTRY_ID = re.compile(r"[0-9]{1,16}-[0-9]{1,16}")
BATCH = 200
KEPT_SECONDS = 2 * 86400


@dataclass(frozen=True)
class Entry:
    """One entry of the stream: its id, by which a reader resumes, and its event.

    Without an event it says that the state in the database has changed, or, not `readable`, nothing at all.
    """

    id: str
    event: Event | None
    readable: bool = True


def position(last_event_id: str | None) -> str:
    """Where to go on reading: the id a browser sends back, or the start for anything else."""
    if last_event_id and ENTRY_ID.fullmatch(last_event_id):
        return last_event_id
    return START


async def read_after(
    broker: "redis_async.Redis", submission: str, last: str, block_seconds: float | None
) -> list[Entry]:
    """Entries after `last`, waiting for the first of them up to `block_seconds` (None: not at all).

    What is not an event (a node of another version wrote it) comes as an entry that is not readable: a reader
    goes on behind it. Raises RedisError when the broker does not answer.
    """
    block = None if block_seconds is None else max(1, int(block_seconds * 1000))
    answer: Any = await broker.xread({events_key(submission): last}, count=BATCH, block=block)
    return [_entry(raw) for _, found in answer or () for raw in found]


def mark_changed(broker: "redis.Redis", submission: str) -> None:
    """Tell everybody who follows that the database holds another state now. Raises RedisError."""
    pipe = broker.pipeline(transaction=False)
    pipe.xadd(events_key(submission), {"changed": "1"}, maxlen=EVENTS_KEPT, approximate=True)
    pipe.expire(events_key(submission), KEPT_SECONDS)
    pipe.execute()


def _entry(raw: Any) -> Entry:
    number, fields = raw
    identity = number.decode()
    if b"event" not in fields:
        return Entry(identity, None)
    try:
        return Entry(identity, read(Event, fields[b"event"]))
    except ContractError:
        return Entry(identity, None, readable=False)


def encode(name: str, data: Any, identity: str | None = None) -> bytes:
    """One server-sent event; `data` as JSON on a single line."""
    lines = [] if identity is None else [f"id: {identity}"]
    lines += [f"event: {name}", f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}"]
    return ("\n".join(lines) + "\n\n").encode()
