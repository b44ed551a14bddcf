"""How long the demo waits: for as long as submissions come to an end, on a clock of the test's own."""

import io
from collections.abc import Mapping, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from rich.console import Console

from grader.contract import Verdict
from server import demo, site
from server.demo.entrants import Entry
from server.demo.student import Student, Submitted

ENTRIES = 5


class Course:
    """A course of one student and its staff: each submission ends so many seconds after the one before."""

    def __init__(self, seconds: float, most: int) -> None:
        self.now = 0.0
        self._seconds, self._most = seconds, most
        self._submitted = 0

    def submit(self, entry: Entry) -> Submitted:
        """Hand it in."""
        self._submitted += 1
        return Submitted(httpx.Client(), entry, self._found(self._submitted))

    def everything(self, ids: Set[str]) -> Mapping[str, dict[str, Any]]:
        """What has become of these."""
        return {identity: self._found(int(identity)) for identity in ids}

    def _found(self, number: int) -> dict[str, Any]:
        final = number <= self._most and self.now >= number * self._seconds
        verdict, state = ("accepted", "done") if final else (None, "running")
        return {"id": str(number), "state": state, "final": final, "verdict": verdict, "fraction": None}

    def monotonic(self) -> float:
        """The time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let it pass."""
        self.now += seconds


def waited(monkeypatch: pytest.MonkeyPatch, course: Course) -> tuple[list[Submitted], str]:
    """All submissions when the demo no longer waits, and what it has printed."""
    monkeypatch.setattr(demo, "time", course)
    path = Path("reference/kernels/double/solution.py")
    entries = [Entry("kernels/double", path, Verdict.ACCEPTED, None, {}, "ada")] * ENTRIES
    student = cast("Student", course)
    running = cast("site.Site", SimpleNamespace(supervisor=SimpleNamespace(watch=lambda: None)))
    text = io.StringIO()
    console = Console(file=text, width=demo.WIDTH)
    found = demo._grade(entries, {"ada": student}, student, running, console, lambda: False)
    return found, text.getvalue()


def test_a_slow_machine_has_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(seconds=0.9 * demo.PATIENCE_SECONDS, most=ENTRIES)
    found, text = waited(monkeypatch, course)
    assert all(one.as_expected for one in found)
    assert "gave up" not in text
    assert course.now > 4 * demo.PATIENCE_SECONDS


def test_where_nothing_comes_to_its_end_the_demo_gives_up_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    course = Course(seconds=60.0, most=2)
    found, text = waited(monkeypatch, course)
    assert [one.as_expected for one in found] == [True, True, False, False, False]
    assert "for 20 minutes: gave up" in text
    assert course.now < 120 + demo.PATIENCE_SECONDS + 60


@pytest.mark.parametrize(("waits", "code"), [("1", 1), ("", 130)])
def test_a_demo_that_was_stopped_is_no_success_for_whoever_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: str, code: int
) -> None:
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path))
    monkeypatch.setenv("DEMO_EXIT", waits)
    monkeypatch.setattr(demo, "_calibrate", lambda *_: "a CPU")
    assert demo.run(port=None, ended=lambda: True) == code
