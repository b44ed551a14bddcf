"""One correctness case: fill, poison, call, and compare with the oracle from the judge's own inputs."""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from grader.contract import FirstWrong, TestResult, Text, Verdict
from grader.judge import authored
from grader.judge.arena import Arena, same_bits, snapshot
from grader.judge.audit import Comparison
from grader.judge.authored import Watch
from grader.judge.client import Client
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.layout import LayoutError, SlotLayout, plan, slot_bytes
from grader.messages import text
from grader.task import Case, FunctionTask, Slot, Tensor, outputs

_ABOUT_SHAPES = re.compile(r"shape|size|broadcast", re.IGNORECASE)
"""What torch and numpy say of a result that does not fit where it is written."""


@dataclass(frozen=True)
class CaseRun:
    """What a case gave. `alive`: the client can take another case."""

    result: TestResult
    alive: bool


def arena_bytes(task: FunctionTask, case: Case, watch: Watch) -> int:
    """Bytes that a case needs in the arena. Raises AssignmentFault."""
    try:
        return slot_bytes(authored.tensors(task, case, watch))
    except LayoutError as error:
        raise AssignmentFault("tensors", str(error)) from error


def signature(entry: str, task: FunctionTask, case: Case, watch: Watch) -> str:
    """How the function is called, for a message: `solve(x, out, *, eps=1e-06)`."""
    names = [tensor.name for tensor in authored.tensors(task, case, watch)]
    scalars = [f"{name}={value!r}" for name, value in authored.scalars(task, case, watch).items()]
    return f"{entry}({', '.join([*names, *scalars])})"


def rehearse(task: FunctionTask, case: Case, seed: int, *, watch: Watch, compared: bool = True) -> None:
    """Fill, oracle and, if `compared`, comparison of a case without a candidate. Raises AssignmentFault."""
    arena_bytes(task, case, watch)
    tensors = authored.tensors(task, case, watch)
    (slot,) = plan(tensors, 1)
    image = Arena(slot.end)
    try:
        image.prepare([slot])
        mine = image.tensors(slot)
        given = {tensor.name: mine[tensor.name] for tensor in tensors if tensor.role != "out"}
        authored.guard("fill", case, lambda: task.fill(case.params, [given], [seed]), watch)
        inputs = snapshot(given)
        expected = authored.guard("oracle", case, lambda: task.oracle(case.params, inputs), watch)
        if compared:
            found = snapshot({tensor.name: mine[tensor.name] for tensor in outputs(tensors)})
            authored.compare(tensors, found, expected, case)  # Poison is in `found`: all of it is run.
    finally:
        image.close()


def run(
    client: Client,
    task: FunctionTask,
    case: Case,
    seed: int,
    *,
    entry: str,
    call_seconds: float,
    watch: Watch,
) -> CaseRun:
    """Run one case on a client whose code is loaded; the values follow from the 128-bit seed.

    All that the candidate does ends in the result. Raises AssignmentFault and SandboxError.
    """
    tensors = authored.tensors(task, case, watch)
    (slot,) = plan(tensors, 1)
    image = Arena(slot.end)  # The judge's own copy of what the candidate gets; never shared.
    begin = time.monotonic()
    try:
        message, comparisons = _attempt(
            client, task, case, seed, slot, image, entry=entry, call_seconds=call_seconds, watch=watch
        )
        verdict = Verdict.ACCEPTED if message is None else Verdict.WRONG_ANSWER
        alive = True
    except CandidateFailure as failure:
        verdict, comparisons, alive = failure.verdict, [], failure.alive
        message = _with_shapes(failure.text, tensors)
    finally:
        image.close()
    seconds = time.monotonic() - begin
    stdout, stderr = client.output()
    return CaseRun(
        TestResult(
            case=case.id,
            part=case.part,
            verdict=verdict,
            message=message,
            params=dict(case.params),
            shapes={tensor.name: tensor.describe() for tensor in tensors},
            first_wrong=first_wrong(comparisons),
            errors=tuple(comparison.stats() for comparison in comparisons),
            stdout=stdout,
            stderr=stderr,
            seconds=seconds,
        ),
        alive,
    )


def _attempt(
    client: Client,
    task: FunctionTask,
    case: Case,
    seed: int,
    slot: SlotLayout,
    image: Arena,
    *,
    entry: str,
    call_seconds: float,
    watch: Watch,
) -> tuple[Text | None, list[Comparison]]:
    """What is wrong, if anything, and how the outputs compare."""
    tensors = [placement.tensor for placement in slot.plan.placements]
    image.prepare([slot])
    mine = image.tensors(slot)
    given = {tensor.name: mine[tensor.name] for tensor in tensors if tensor.role != "out"}
    authored.guard("fill", case, lambda: task.fill(case.params, [given], [seed]), watch)
    client.memory.bytes()[slot.start : slot.end].copy_(image.bytes()[slot.start : slot.end])
    client.bind(
        [slot],
        authored.scalars(task, case, watch),
        entry=entry,
        signature=signature(entry, task, case, watch),
    )
    client.call(0, time.monotonic() + call_seconds)
    for _, name in client.memory.disturbed([slot]):
        return text("outside", output=name), []
    shared = {name: view.cpu() for name, view in client.memory.tensors(slot).items()}
    for tensor in tensors:
        if tensor.role == "in" and not same_bits(shared[tensor.name], mine[tensor.name]):
            return text("input_modified", name=tensor.name), []
    found = snapshot({tensor.name: shared[tensor.name] for tensor in outputs(tensors)})
    inputs = snapshot(given)
    expected = authored.guard("oracle", case, lambda: task.oracle(case.params, inputs), watch)
    comparisons = authored.compare(tensors, found, expected, case)
    failed = next((comparison for comparison in comparisons if not comparison.passed), None)
    if failed is None:
        return None, comparisons
    return _explained(task, case, snapshot(given), expected, found, reason(failed), watch), comparisons


def _with_shapes(told: Text, tensors: Sequence[Tensor]) -> Text:
    """An exception about shapes, with those of the outputs: often the exception itself names none."""
    if told.code != "exception" or not _ABOUT_SHAPES.search(told.en.partition("\n")[0]):
        return told
    shapes = ", ".join(f"{tensor.name} {tensor.describe()}" for tensor in outputs(tensors))
    hint = text("output_shapes", outputs=shapes)
    return Text(code=told.code, en=f"{told.en}\n{hint.en}"[:8192], zh=f"{told.zh}\n{hint.zh}"[:8192])


def reason(failed: Comparison) -> Text:
    """The sentence for an output that is wrong."""
    first = failed.first_wrong
    fields = {"output": failed.output, "elements": failed.elements, "wrong": failed.wrong_elements}
    if first is not None and first.expected.startswith("untouched"):
        return text("beyond_count", **fields)
    if failed.unwritten == failed.elements:
        return text("never_written", **fields)
    if failed.unwritten:
        return text("partly_written", unwritten=failed.unwritten, **fields)
    if first is not None and first.found in ("nan", "inf", "-inf") and first.found != first.expected:
        return text("not_finite", index=list(first.index), **fields)
    if failed.wrong_elements or failed.exact:
        return text("wrong", **fields)
    return text(
        "imprecise",
        output=failed.output,
        worst=f"{failed.worst_row:.2g}",
        worst_limit=f"{failed.tolerance.worst_row:.2g}",
        mean=f"{failed.mean_row:.2g}",
        mean_limit=f"{failed.tolerance.mean_row:.2g}",
    )


def _explained(
    task: FunctionTask, case: Case, inputs: Slot, expected: Slot, found: Slot, reason: Text, watch: Watch
) -> Text:
    """The reason with the author's hint behind it. A hint that fails is left out: it decides nothing."""
    explain = task.explain
    if explain is None:
        return reason

    def explained() -> Text:
        hint = explain(case.params, inputs, expected, found)
        if hint is None:
            return reason
        en, zh = hint
        return Text(code=reason.code, en=f"{reason.en} {en}"[:8192], zh=f"{reason.zh}{zh}"[:8192])

    with suppress(AssignmentFault):
        return authored.guard("explain", case, explained, watch)
    return reason


def first_wrong(comparisons: Sequence[Comparison]) -> FirstWrong | None:
    """The first wrong element of the first output that is wrong."""
    return next((c.first_wrong for c in comparisons if not c.passed and c.first_wrong is not None), None)
