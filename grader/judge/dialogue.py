"""Dialogues: an episode of the task's own code on one side, a sandboxed submission that answers on the other.

The task's state, its prices and its verdict live here; what crosses is JSON of at most 64 KiB a message and
the regions (`grader.judge.partner`). A priced case carries its value and its bound in its outcome.
"""

import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader import scoring
from grader.contract import Evidence, Measure, TestResult, Text, TimedResult, Verdict
from grader.judge import authored, blobs
from grader.judge.authored import Watch
from grader.judge.client import Client
from grader.judge.correctness import CaseRun
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.partner import Partner
from grader.messages import text
from grader.plaintext import clean
from grader.task import Case, DialogueTask, Outcome, Refused
from grader.transcript import Recorder


@dataclass(frozen=True)
class Priced:
    """What a priced case gave; `alive`: the client can take another one."""

    result: TimedResult
    evidence: tuple[Evidence, ...]
    alive: bool


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
        transcript=_transcript(partner),
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
        transcript=_transcript(partner),
        **fields,
    )
    return Priced(result, evidence, client.alive)


def _episode(
    client: Client, task: DialogueTask, case: Case, seed: int, watch: Watch
) -> tuple[Verdict, Text | None, Outcome | None, Partner, str]:
    """Verdict, what to say, the outcome where it counts, the partner, and the candidate's own words."""
    budget = authored.budget(task, case, watch)
    recorder = Recorder() if case.visibility == "public" else None
    partner = Partner(client, budget, _regions(task, case, watch), recorder)
    try:
        partner.open()
        # The candidate's share of this is limited by the partner, the rest is the task's own.
        with watch(f"episode of {case.id}", budget.episode_seconds + authored.SECONDS):
            outcome = _run(task, case, partner, seed)
    except CandidateFailure as failure:
        return failure.verdict, failure.text, None, partner, failure.detail
    if not outcome.passed:
        return Verdict.WRONG_ANSWER, _sentence(outcome), None, partner, ""
    if case.role == "test":
        return Verdict.ACCEPTED, _sentence(outcome) if outcome.en else None, None, partner, ""
    return Verdict.ACCEPTED, None, outcome, partner, ""


def _run(task: DialogueTask, case: Case, partner: Partner, seed: int) -> Outcome:
    """The episode's outcome. Raises what ended it: whose fault that is lies in the type."""
    try:
        outcome = task.episode(case, partner, seed)
    except Refused as refused:
        outcome = Outcome(False, refused.en, refused.zh)
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
    code = "episode_passed" if outcome.passed else "episode_failed"
    return Text(code=code, en=clean(outcome.en, 8192), zh=clean(outcome.zh or outcome.en, 8192))


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


def _transcript(partner: Partner) -> str:
    return "" if partner.recorder is None else partner.recorder.packed()


def _regions(task: DialogueTask, case: Case, watch: Watch) -> Mapping[str, blobs.Placed]:
    return blobs.lay_out(authored.regions(task, case, watch))
