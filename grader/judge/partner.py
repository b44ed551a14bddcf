"""The candidate as an episode sees it: questions within a budget, regions, and what was said on record."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from grader.contract import Verdict
from grader.judge import blobs, tensors
from grader.judge.client import Client
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.messages import MAX_FRAME
from grader.messages import text
from grader.task import Budget, Json, Raised
from grader.transcript import Recorder

if TYPE_CHECKING:
    import torch

_ENVELOPE = 256
"""Bytes of a message beside what it carries."""

Error = TypeVar("Error", bound=Exception)


@dataclass
class Partner:
    """A `grader.task.Candidate` over one client.

    What ends the episode is kept in `failure`, since an episode may catch what it does not know.
    """

    client: Client
    budget: Budget
    regions: Mapping[str, blobs.Placed]
    recorder: Recorder | None = None
    """Of public cases."""
    messages: int = 0
    failure: Exception | None = None
    trace: str = field(default="", repr=False)
    """Where the submission last raised."""
    _waited: int = 0

    @property
    def waited_ns(self) -> int:
        """Nanoseconds of the judge's clock from question to answer, over all questions."""
        return self._waited

    def open(self) -> None:
        """Begin the episode with empty regions. Raises CandidateFailure."""
        for placed in self.regions.values():
            blobs.clear(self.client.arena, placed)
        described = [placed.describe() for placed in self.regions.values()]
        self.client.open_dialogue(described)
        self._note(open=[{k: v for k, v in one.items() if k not in ("start", "data")} for one in described])

    def ask(self, method: str, message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        """One question and its answer."""
        self._check_message(method, message)
        if self.messages >= self.budget.messages:
            limit = text("messages", limit=self.budget.messages)
            raise self._ended(CandidateFailure(Verdict.TIME_LIMIT, limit, alive=True))
        self.messages += 1
        left = self.budget.episode_seconds - self._waited / 1e9
        limit_seconds = min(deadline_seconds or self.budget.message_seconds, left)
        deadline = time.monotonic() + max(0.0, limit_seconds)
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        try:
            reply = self.client.converse(method, message, deadline)
        except Exception as error:  # noqa: BLE001 (kept, and raised again after the episode)
            verdict = error.verdict.value if isinstance(error, CandidateFailure) else "fault"
            self._note(ask=method, message=message, failed=verdict)
            raise self._ended(error) from None
        finally:
            # Only waiting counts: the task's own work is not the candidate's.
            taken = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - begin
            self._waited += taken
        if reply.raised is None:
            value: Json = reply.value
            self._note(ask=method, message=message, answer=value, ns=taken)
            return value
        raised = Raised(reply.raised.kind, reply.raised.text)
        self._note(ask=method, message=message, raised=[raised.kind, raised.text], ns=taken)
        self.trace = reply.raised.trace
        return raised

    def write(self, region: str, values: "torch.Tensor") -> None:
        """Place values into a region that goes to the candidate."""
        placed = self._region(region)
        try:
            blobs.write(self.client.arena, placed, values)
        except ValueError as error:
            raise self._ended(AssignmentFault("episode", str(error))) from error
        if self.recorder is not None:
            data = base64.b64encode(blobs.held(self.client.arena, placed)).decode()
            self._note(write=region, data=data)

    def read(self, region: str) -> "torch.Tensor":
        """A copy of what the candidate placed into a region."""
        placed = self._region(region)
        self._note(read=region)
        try:
            return blobs.read(self.client.arena, placed)
        except CandidateFailure as failure:
            raise self._ended(failure) from None

    def write_tensors(self, region: str, values: "Mapping[str, torch.Tensor]") -> None:
        """Place named tensors into a region that goes to the candidate."""
        named = self._region(region).named
        if named is None:
            raise self._ended(AssignmentFault("episode", f"the region {region!r} is no TensorRegion"))
        try:
            packed = tensors.pack(named, values)
        except ValueError as error:
            raise self._ended(AssignmentFault("episode", str(error))) from error
        self.write(region, packed)

    def read_tensors(self, region: str) -> "dict[str, torch.Tensor]":
        """Copies of the tensors that the candidate placed into a region."""
        named = self._region(region).named
        if named is None:
            raise self._ended(AssignmentFault("episode", f"the region {region!r} is no TensorRegion"))
        file = self.read(region)
        try:
            return tensors.unpack(named, file)
        except CandidateFailure as failure:
            raise self._ended(failure) from None

    def _region(self, name: str) -> blobs.Placed:
        if name not in self.regions:
            known = ", ".join(self.regions) or "none"
            raise self._ended(AssignmentFault("episode", f"there is no region {name!r}; there are: {known}"))
        return self.regions[name]

    def _check_message(self, method: str, message: Json) -> None:
        if self.failure is not None:
            raise self.failure
        try:
            size = len(json.dumps([method, message], allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise self._ended(
                AssignmentFault("episode", f"{method}: the message is no JSON: {error}")
            ) from error
        if size > MAX_FRAME - _ENVELOPE:
            wrong = f"{method}: a message of {size} bytes; at most {MAX_FRAME - _ENVELOPE} are sent"
            raise self._ended(AssignmentFault("episode", wrong))

    def _ended(self, error: Error) -> Error:
        self.failure = self.failure or error
        return error

    def _note(self, **entry: Any) -> None:
        if self.recorder is not None:
            self.recorder.note(entry)
