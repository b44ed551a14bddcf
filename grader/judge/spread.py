"""How far apart the times of fresh sessions lie: what no interval from within one session can know.

A session's memory lies where it happens to lie, and stays there; a virtual machine's neighbours change within
a minute. So a fixed program of our own, a copy that the memory binds, is timed in several fresh sandboxes,
with pauses between them.
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader import fills
from grader.contract import Verdict
from grader.judge import timed, yardstick
from grader.judge.interval import Rule
from grader.judge.overhead import Overhead
from grader.judge.own import OwnCandidate
from grader.sandbox.base import Backend, SandboxError
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor

SESSIONS = 8
PAUSE_SECONDS = 5.0
LARGEST = 0.5
"""What is measured beyond says that the machine was busy, not how sessions differ."""
_NORMAL_90 = 1.281552
_RULE = Rule(target=1e9, min_rounds=29, max_rounds=29)
"""So many rounds, of whatever scatter."""
_LEAST = 11
"""Quiet rounds that a session must have to have a median."""
_ELEMENTS = 1 << 20
_SLOTS = 16

_NATIVE = b"""#include "solmark.h"
extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    memcpy(tensors[1].data, tensors[0].data, 4 * tensors[0].shape[0]);
    return 0;
}
"""
_PYTHON = b"def solve(x, y):\n    y.copy_(x)\n"


@dataclass(frozen=True)
class Spread:
    """What fresh sessions of one program show."""

    cv: float
    """An upper limit of the coefficient of variation of their medians."""
    quiet_seconds: float
    """What a reading of the judge's own memory takes while the machine is quiet (see `judge.yardstick`)."""


def measure(backend: Backend, sessions: int = SESSIONS, pause: float = 0.0) -> Spread:
    """Time our own copy in fresh sessions, about two seconds each. Raises SandboxError.

    What is quiet is found from the readings of all of them. `LARGEST` stands for the cv where most sessions
    had too few quiet rounds.
    """
    plan = timed.plan(_TASK, _CASE, None)
    plan = replace(plan, slots=plan.slots[:_SLOTS])
    program = OwnCandidate.build(backend, _NATIVE, _PYTHON)
    rounds: list[list[tuple[float, float]]] = []
    for number in range(sessions):
        time.sleep(pause if number else 0.0)
        with program.start(plan.arena_bytes) as client:
            timing = timed.run(client, plan, overhead=Overhead(), rule=_RULE)
        if timing.result.verdict is not Verdict.ACCEPTED:
            raise SandboxError(f"our own copy was not accepted: {timing.result.verdict}")
        rounds.append(list(zip(timing.result.rounds, timing.readings, strict=True)))
    quiet = yardstick.quiet([reading for session in rounds for _, reading in session])
    return Spread(between(rounds, yardstick.SLOWER * quiet), quiet)


def between(rounds: Sequence[Sequence[tuple[float, float]]], quiet_seconds: float) -> float:
    """Upper limit of the cv of the medians of sessions, each given as its rounds (seconds, reading)."""
    kept = [[seconds for seconds, reading in session if reading <= quiet_seconds] for session in rounds]
    medians = [statistics.median(session) for session in kept if len(session) >= _LEAST]
    if len(medians) < max(2, len(rounds) // 2):
        return LARGEST
    return min(LARGEST, upper(statistics.stdev(medians) / statistics.fmean(medians), len(medians)))


def upper(cv: float, sessions: int) -> float:
    """One-sided 90 % limit of a cv found in a sample of sessions: so few of them say little of a cv.

    For normal medians: the sample's cv times sqrt(k / chi2(0.1, k)), with k = sessions - 1 and Wilson and
    Hilferty's quantile.
    """
    degrees = sessions - 1
    share = 2 / (9 * degrees)
    quantile = degrees * (1 - share - _NORMAL_90 * share**0.5) ** 3
    return float(cv * (degrees / quantile) ** 0.5)


def _tensors(_params: Params) -> Sequence[Tensor]:
    return [Tensor("x", "float32", (_ELEMENTS,), "in"), Tensor("y", "float32", (_ELEMENTS,), "out")]


def _fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001 (by name)
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["x"], seed, "x")


def _oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001 (by name)
    return {"y": inputs["x"]}


_TASK = FunctionTask(
    tensors=_tensors, fill=_fill, oracle=_oracle, cost=lambda _params: Cost(dram_bytes=8.0 * _ELEMENTS)
)
_CASE = Case(id="copy", part="copy", visibility="public", role="timed", params={})
