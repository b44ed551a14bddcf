"""How far apart the times of fresh sessions lie: what no interval from within one session can know.

A session's memory lies where it happens to lie, and stays there; a virtual machine's neighbours change within
a minute. So a fixed program of our own, a copy that the memory binds, is timed in several fresh sandboxes,
with pauses between them.
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from grader import fills
from grader.contract import Verdict
from grader.judge import timed
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
_RULE = Rule(target=1e9, seconds=4.0)
"""As many rounds as there must be, of whatever scatter."""
_ELEMENTS = 1 << 20
_SLOTS = 16

_NATIVE = b"""#include "solmark.h"
extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    memcpy(tensors[1].data, tensors[0].data, 4 * tensors[0].shape[0]);
    return 0;
}
"""
_PYTHON = b"def solve(x, y):\n    y.copy_(x)\n"


def measure(
    backend: Backend, sessions: int = SESSIONS, pause: float = 0.0, quiet_seconds: float = inf
) -> float:
    """An upper limit of the cv of the medians of sessions, about two seconds each. Raises SandboxError.

    So few sessions say little of a cv. The limit is the one-sided 90 % bound for normal medians: the sample's
    cv times sqrt(k / chi2(0.1, k)), with k = sessions - 1. A session that was disturbed throughout (see
    `judge.yardstick`) is repeated; `LARGEST` where the machine does not get quiet.
    """
    plan = timed.plan(_TASK, _CASE, None)
    plan = replace(plan, slots=plan.slots[:_SLOTS], quiet_seconds=quiet_seconds)
    program = OwnCandidate.build(backend, _NATIVE, _PYTHON)
    medians: list[float] = []
    for number in range(2 * sessions):
        if len(medians) == sessions:
            break
        time.sleep(pause if number else 0.0)
        with program.start(plan.arena_bytes) as client:
            result = timed.run(client, plan, overhead=Overhead(), rule=_RULE).result
        if result.verdict is Verdict.ACCEPTED and result.measure is not None:
            medians.append(result.measure.value)
        elif result.verdict is not Verdict.UNSTABLE_TIMING:
            raise SandboxError(f"our own copy was not accepted: {result.verdict}")
    if len(medians) < sessions:
        return LARGEST
    return min(LARGEST, upper(statistics.stdev(medians) / statistics.fmean(medians), sessions))


def upper(cv: float, sessions: int) -> float:
    """One-sided 90 % limit of a cv found in a sample, with Wilson and Hilferty's chi-squared quantile."""
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
