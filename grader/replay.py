"""Plays a transcript again: the judge's half of an episode as it was, a submission that answers anew.

Runs in the same sandbox as a grading, with the assignment's adapter beside the submission. Nothing is judged:
what is told is where an answer differs from the one that was given then.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.contract import Language
from grader.judge import blobs
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.sandbox.base import Backend, Limits
from grader.task import BlobRegion
from grader.transcript import Transcript, TranscriptError

ANSWER_SECONDS = 60.0
"""For one answer: a replay is for looking, and may run under a tracer."""


@dataclass(frozen=True)
class Step:
    """One question, what was answered then, and what is answered now."""

    number: int
    method: str
    message: Any
    then: Any
    now: Any
    seconds: float

    @property
    def same(self) -> bool:
        """Whether both answers are one."""
        return bool(self.then == self.now)


def play(
    transcript: Transcript,
    files: Mapping[str, bytes],
    entry_name: str,
    adapter: bytes | None,
    backend: Backend,
    language: Language = Language.PYTHON,
) -> Iterator[Step]:
    """Every question of the transcript, one after the other. An answer of a step is a value, or
    `{"raised": [kind, text]}`, or `{"failed": sentence}`, after which there are no more.

    Raises CandidateFailure for code that cannot be loaded, TranscriptError, SandboxError.
    """
    placed = blobs.lay_out(_regions(transcript))
    with Client.start(
        backend, Limits(), arena_bytes=max(1, blobs.arena_bytes(placed)), language=language
    ) as client:
        client.load(files, "", entry_name, adapter=adapter)
        number = 0
        for entry in transcript.entries:
            if "open" in entry:
                for region in placed.values():
                    blobs.clear(client.arena, region)
                tensors = {one["name"]: one.get("tensors", {}) for one in entry["open"]}
                client.open_dialogue(
                    [{**region.describe(), "tensors": tensors[name]} for name, region in placed.items()]
                )
            elif "write" in entry:
                _write(client, placed, entry)
            elif "ask" in entry:
                number += 1
                step = _ask(client, number, entry)
                yield step
                if isinstance(step.now, dict) and "failed" in step.now:
                    return


def _ask(client: Client, number: int, entry: Mapping[str, Any]) -> Step:
    method, message = str(entry["ask"]), entry.get("message")
    then = next(({key: entry[key]} for key in ("raised", "failed") if key in entry), entry.get("answer"))
    begin = time.monotonic()
    try:
        reply = client.converse(method, message, begin + ANSWER_SECONDS)
        now: Any = reply.value
        if reply.raised is not None:
            now = {"raised": [reply.raised.kind, reply.raised.text]}
    except CandidateFailure as failure:
        now = {"failed": failure.text.en}
    return Step(number, method, message, then, now, time.monotonic() - begin)


def _regions(transcript: Transcript) -> list[BlobRegion]:
    try:
        opened: list[Any] = next((entry["open"] for entry in transcript.entries if "open" in entry), [])
        return [
            BlobRegion(one["name"], one["dtype"], int(one["max_elements"]), one["direction"])
            for one in opened
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise TranscriptError(f"its regions cannot be read: {error}") from None


def _write(client: Client, placed: Mapping[str, blobs.Placed], entry: Mapping[str, Any]) -> None:
    """What the judge placed into a region."""
    import torch

    try:
        region = placed[entry["write"]]
        data = bytearray(base64.b64decode(entry["data"], validate=True))
        dtype: torch.dtype = getattr(torch, region.region.dtype)
        values = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        blobs.write(client.arena, region, values)
    except (KeyError, TypeError, ValueError) as error:
        raise TranscriptError(f"what was written cannot be read: {error}") from None
