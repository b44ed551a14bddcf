"""What is said of gradings: their verdict, how long they took, how far sessions lie apart."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import load
from grader.check import gradings
from grader.check.finding import State
from grader.check.gradings import Grader
from grader.check.solutions import Solution
from grader.contract import VERSION, Mode, Report, Verdict, read
from grader.sandbox import registry
from grader.scaffold.make import make

WIRE = Path(__file__).parents[1] / f"wire/{VERSION - 1}/report.json"
SOLUTION = Solution("solution.py", "best", {}, Verdict.ACCEPTED, Mode.TEST, None, "")
SEED = bytes(16)


def report(factor: float = 1.0, **fields: Any) -> Report:
    """An accepted one with a single timed case, measured at `factor` times its value."""
    one = read(Report, WIRE.read_text("utf-8"))
    (timed,) = one.timed
    assert timed.measure is not None
    values = {name: factor * getattr(timed.measure, name) for name in ("value", "low", "high")}
    measured = timed.model_copy(update={"measure": timed.measure.model_copy(update=values)})
    return one.model_copy(update={"timed": (measured,), **fields})


@pytest.fixture
def grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Grader]:
    """`grader(*reports)`: one whose gradings give these, one after the other."""
    make("demo/new-one", "dialogue", tmp_path, "1.1")
    assignment = load(tmp_path / "assignments/demo/new-one")

    def of(*reports: Report) -> Grader:
        left: Iterator[Report] = iter(reports)
        monkeypatch.setattr(Grader, "grade", lambda *_arguments, **_options: next(left))
        return Grader(assignment, registry.choose("bubblewrap"), None)

    return of


def test_a_solution_that_takes_long_is_a_warning(grader: Callable[..., Grader]) -> None:
    finding, _ = gradings.of_solution(grader(report(seconds=7.9)), SOLUTION, SEED)
    assert (finding.state, finding.text, finding.seconds) == (State.HOLDS, "accepted", 7.9)
    finding, _ = gradings.of_solution(grader(report(seconds=8.1)), SOLUTION, SEED)
    assert (finding.state, finding.text) == (State.WARNING, "accepted; 8.1 s, above the aim of 8 s")


def test_another_verdict_than_the_named_one_fails(grader: Callable[..., Grader]) -> None:
    finding, _ = gradings.of_solution(grader(report(verdict=Verdict.RUNTIME_ERROR)), SOLUTION, SEED)
    assert finding.state is State.FAILS
    assert finding.text.startswith("runtime_error, not accepted: ")


def test_prices_that_differ_under_one_seed_fail(grader: Callable[..., Grader]) -> None:
    (finding,) = gradings.of_prices(grader(report()), SOLUTION, report(), SEED)
    assert (finding.state, finding.text) == (State.HOLDS, "the same prices twice in 1 cases")
    (finding,) = gradings.of_prices(grader(report(1.001)), SOLUTION, report(), SEED)
    assert (finding.state, finding.text) == (State.FAILS, "other prices in wide")


def test_the_spread_of_sessions_is_told_and_a_wide_one_is_a_warning(grader: Callable[..., Grader]) -> None:
    (finding,) = gradings.of_repeats(grader(report(0.99), report(), report(1.01)), SOLUTION, 3)
    assert finding.subject == "solution.py, 3 sessions: wide"
    assert (finding.state, finding.text) == (State.HOLDS, "cv 1.00% between sessions, 64.4% of the bound")
    (finding,) = gradings.of_repeats(grader(report(0.9), report(), report(1.1)), SOLUTION, 3)
    assert finding.state is State.WARNING
    assert finding.text.startswith("cv 10.00% between sessions")
    assert finding.text.endswith("is the machine idle?")


def test_a_session_that_beats_the_bound_fails(grader: Callable[..., Grader]) -> None:
    beaten = report(verdict=Verdict.FASTER_THAN_LIGHT)
    (finding,) = gradings.of_repeats(grader(report(), beaten, report()), SOLUTION, 3)
    assert finding.state is State.FAILS
    assert finding.text.startswith("faster_than_light: ")
