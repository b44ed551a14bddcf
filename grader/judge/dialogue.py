"""Dialogues: an episode of the task's own code on one side, a sandboxed submission that answers on the other.

The task's state, its prices and its verdict live here; what crosses is JSON of at most 64 KiB a message and
the blob regions. No clock is needed: a priced case carries its value and its bound in its outcome.
"""

import json
import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from grader import scoring
from grader.contract import Evidence, Measure, TestResult, Text, TimedResult, Verdict
from grader.judge import authored, blobs
from grader.judge.authored import Watch
from grader.judge.client import Client
from grader.judge.correctness import CaseRun
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.messages import MAX_FRAME
from grader.messages import text
from grader.plaintext import clean
from grader.task import Case, DialogueTask, Json, Outcome, Raised

if TYPE_CHECKING:
    import torch

_ENVELOPE = 256
"""Bytes of a message beside what it carries."""

Error = TypeVar("Error", bound=Exception)


@dataclass(frozen=True)
class Priced:
    """What a priced case gave; `alive`: the client can take another one."""

    result: TimedResult
    evidence: tuple[Evidence, ...]
    alive: bool


@dataclass
class Partner:
    """The candidate as an episode sees it (`grader.task.Candidate`).

    What ends the episode is kept in `failure`, since an episode may catch what it does not know.
    """

    client: Client
    task: DialogueTask
    regions: Mapping[str, blobs.Placed]
    messages: int = 0
    waited: float = 0.0
    failure: Exception | None = None
    trace: str = field(default="", repr=False)
    """Where the submission last raised."""

    def ask(self, method: str, message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        """One question and its answer."""
        self._check_message(method, message)
        if self.messages >= self.task.max_messages:
            limit = text("messages", limit=self.task.max_messages)
            raise self._ended(CandidateFailure(Verdict.TIME_LIMIT, limit, alive=True))
        self.messages += 1
        left = self.task.episode_seconds - self.waited
        limit_seconds = min(deadline_seconds or self.task.message_seconds, left)
        begin = time.monotonic()
        try:
            reply = self.client.converse(method, message, begin + max(0.0, limit_seconds))
        except Exception as error:  # noqa: BLE001 (kept, and raised again after the episode)
            raise self._ended(error) from None
        finally:
            # Only waiting counts: the task's own work is not the candidate's.
            self.waited += time.monotonic() - begin
        if reply.raised is None:
            value: Json = reply.value
            return value
        self.trace = reply.raised.trace
        return Raised(reply.raised.kind, reply.raised.text)

    def write(self, region: str, values: "torch.Tensor") -> None:
        """Place values into a region that goes to the candidate."""
        try:
            blobs.write(self.client.arena, self._region(region), values)
        except ValueError as error:
            raise self._ended(AssignmentFault("episode", str(error))) from error

    def read(self, region: str) -> "torch.Tensor":
        """A copy of what the candidate placed into a region."""
        try:
            return blobs.read(self.client.arena, self._region(region))
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


def arena_bytes(task: DialogueTask, case: Case, watch: Watch) -> int:
    """Bytes that a case needs in the arena. Raises AssignmentFault."""
    return blobs.arena_bytes(_regions(task, case, watch))


def test(client: Client, task: DialogueTask, case: Case, seed: int, *, watch: Watch) -> CaseRun:
    """Run one correctness case on a client whose code is loaded.

    All that the candidate does ends in the result. Raises AssignmentFault and SandboxError.
    """
    begin = time.monotonic()
    verdict, message, _, partner, detail = _episode(client, task, case, seed, watch)
    seconds = time.monotonic() - begin
    out, err = client.output()
    alive = client.alive
    trace = partner.trace if verdict is not Verdict.ACCEPTED else ""
    shown = "\n".join(part for part in (err, detail or trace) if part)
    result = TestResult(
        case=case.id,
        part=case.part,
        verdict=verdict,
        message=message,
        params=dict(case.params),
        stdout=out,
        stderr=clean(shown, 16384),
        seconds=seconds,
    )
    return CaseRun(result, alive)


def price(client: Client, task: DialogueTask, case: Case, seed: int, *, watch: Watch) -> Priced:
    """Run one priced case: its outcome's value against its bound. Raises AssignmentFault and SandboxError."""
    verdict, message, outcome, partner, _ = _episode(client, task, case, seed, watch)
    fields: dict[str, Any] = {}
    evidence: tuple[Evidence, ...] = ()
    if outcome is not None:
        measure = _measure(outcome)
        fields["measure"] = measure
        if verdict is Verdict.ACCEPTED and _beats(measure):
            verdict, message = Verdict.FASTER_THAN_LIGHT, text("beyond_bound")
            evidence = (
                Evidence(
                    kind="bound",
                    case=case.id,
                    measured=measure.value,
                    limit=measure.bound,
                    unit=measure.unit,
                    text=f"{measure.quantity}: the value lies beyond the bound ({measure.bound_by})",
                ),
            )
        elif verdict is Verdict.ACCEPTED:
            fraction = _fraction(measure)
            fields |= {"fraction": fraction, "fraction_low": fraction, "fraction_high": fraction}
    result = TimedResult(
        case=case.id,
        part=case.part,
        verdict=verdict,
        message=message,
        params=dict(case.params),
        calls=partner.messages,
        **fields,
    )
    return Priced(result, evidence, client.alive)


def _episode(
    client: Client, task: DialogueTask, case: Case, seed: int, watch: Watch
) -> tuple[Verdict, Text | None, Outcome | None, Partner, str]:
    """Verdict, what to say, the outcome where it counts, the partner, and the candidate's own words."""
    regions = _regions(task, case, watch)
    partner = Partner(client, task, regions)
    try:
        for placed in regions.values():
            blobs.clear(client.arena, placed)
        client.open_dialogue([placed.describe() for placed in regions.values()])
        # The candidate's share of this is limited by the partner, the rest is the task's own.
        with watch(f"episode of {case.id}", task.episode_seconds + authored.SECONDS):
            outcome = _run(task, case, partner, seed)
    except CandidateFailure as failure:
        return failure.verdict, failure.text, None, partner, failure.detail
    if not outcome.passed:
        return Verdict.WRONG_ANSWER, _sentence(outcome), None, partner, ""
    if case.role == "test":
        return Verdict.ACCEPTED, None, None, partner, ""
    return Verdict.ACCEPTED, None, outcome, partner, ""


def _run(task: DialogueTask, case: Case, partner: Partner, seed: int) -> Outcome:
    """The episode's outcome. Raises what ended it: whose fault that is lies in the type."""
    try:
        outcome = task.episode(case, partner, seed)
    except BaseException as error:
        # In the session's thread nothing but the task's code raises what would end a program.
        if partner.failure is None:
            raise AssignmentFault("episode", traceback.format_exc()) from error
    if partner.failure is not None:
        raise partner.failure
    if not isinstance(outcome, Outcome):
        raise AssignmentFault("episode", f"gave {type(outcome).__name__}; a grader.task.Outcome is needed")
    return outcome


def _sentence(outcome: Outcome) -> Text:
    if not outcome.en:
        return text("episode_failed")
    return Text(code="episode_failed", en=clean(outcome.en, 8192), zh=clean(outcome.zh or outcome.en, 8192))


def _measure(outcome: Outcome) -> Measure:
    """The outcome's numbers. Raises AssignmentFault where they are none."""
    value, bound = outcome.value, outcome.bound
    if value is None or bound is None:
        raise AssignmentFault("episode", "the outcome of a timed case needs a value and a bound")
    if not all(math.isfinite(number) and number >= 0 for number in (value, bound)):
        raise AssignmentFault("episode", f"value {value} and bound {bound} must be finite and not negative")
    return Measure(
        quantity=outcome.quantity[:64] or "price",
        unit=outcome.unit[:32] or "1",
        better=outcome.better,
        value=float(value),
        low=float(value),
        high=float(value),
        bound=float(bound),
        bound_by=(outcome.bound_by or "")[:64] or None,
    )


def _beats(measure: Measure) -> bool:
    """Whether the value lies beyond the bound by more than rounding."""
    assert measure.bound is not None
    slack = 1e-9 * measure.bound
    if measure.better == "lower":
        return measure.value < measure.bound - slack
    return measure.value > measure.bound + slack


def _fraction(measure: Measure) -> float:
    """Share of the bound that was reached; 1 where both are zero. Raises AssignmentFault."""
    assert measure.bound is not None
    if measure.value == measure.bound:
        return 1.0
    try:
        return scoring.case_fraction(
            measure.value, measure.value, measure.value, measure.bound, better=measure.better
        ).value
    except scoring.ScoringError as error:
        raise AssignmentFault("episode", str(error)) from error


def _regions(task: DialogueTask, case: Case, watch: Watch) -> Mapping[str, blobs.Placed]:
    return blobs.lay_out(authored.regions(task, case, watch))
