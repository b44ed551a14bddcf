"""Which rounds count: a measurement over a clock that is told what it reads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from grader.contract import Verdict
from grader.hardware.profile import Hardware
from grader.judge import timed, yardstick
from grader.judge.client import Client
from grader.judge.clock import Round
from grader.judge.interval import Decision, Rule
from grader.judge.overhead import Overhead
from grader.judge.rounds import Rounds
from grader.task import Case, FunctionTask

QUIET = 0.001


@dataclass
class Told:
    """A clock whose rounds last what it is told, with the readings it is told."""

    script: Iterator[tuple[float, float]]
    case: str = "told"
    rounds: int = 0
    seen: list[float] = field(default_factory=list)

    def round(self, calls: int, limit_seconds: float) -> Round:
        self.rounds += 1
        seconds, reading = next(self.script)
        self.seen.append(seconds)
        return Round(calls, seconds, calls, (), yardstick=reading)


def rounds(script: Iterator[tuple[float, float]], rule: Rule) -> Rounds:
    return Rounds(Told(script), 1, rule, 0.0, 1.0, lambda _done, _most: None, 0.01, QUIET)


def test_a_round_beside_a_busy_neighbour_does_not_count() -> None:
    def script() -> Iterator[tuple[float, float]]:
        while True:
            yield from ((0.020, 0.9 * QUIET), (0.050, 1.1 * QUIET), (0.010, 3 * QUIET), (0.021, 0.5 * QUIET))

    measured = rounds(script(), Rule(target=0.1))
    assert measured.measure() is Decision.ENOUGH
    assert set(measured.seconds) == {0.020, 0.021}
    # Neither the slow ones nor the fast ones among the disturbed ones: their own time decides nothing.
    assert measured.disturbed > 0
    # The first round finds the number of calls, the second one settles.
    assert measured.disturbed + len(measured.seconds) == measured.clock.rounds - 2


def test_a_machine_that_is_never_quiet_has_no_time() -> None:
    def script() -> Iterator[tuple[float, float]]:
        while True:
            yield 0.020, 2 * QUIET

    measured = rounds(script(), Rule(target=0.1, seconds=0.05))
    assert measured.measure() is Decision.UNSTABLE
    assert measured.seconds == []
    assert measured.disturbed > 0


def test_the_student_learns_that_it_was_the_machine(
    start: Callable[..., Client],
    toy: FunctionTask,
    case: Callable[..., Case],
    hardware: Callable[..., Hardware],
) -> None:
    profile = hardware().model_copy(update={"yardstick_seconds": 1e-9})
    plan = timed.plan(toy, case(), profile)
    assert plan.quiet_seconds == pytest.approx(yardstick.SLOWER * 1e-9)
    plan = replace(plan, slots=plan.slots[:4])
    result = timed.run(start(plan), plan, overhead=Overhead(), rule=Rule(target=0.1, seconds=0.3)).result
    assert result.verdict is Verdict.UNSTABLE_TIMING
    assert result.message is not None
    assert result.message.code == "disturbed"
    assert result.measure is None
    assert result.disturbed_rounds > 0


def test_what_is_quiet_is_neither_the_luckiest_reading_nor_the_usual_one() -> None:
    assert yardstick.quiet([5.0, 1.0, *[2.0] * 9, *[4.0] * 9]) == 2.0
