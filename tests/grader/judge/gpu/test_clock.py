"""The order of things in a round on a device, with a ring and a candidate that only take notes."""

from types import SimpleNamespace
from typing import Any

import pytest

from grader.judge.gpu.clock import DeviceClock


class Notes:
    """Ring, watchdog and client in one: every call of the names in `NOTED` is written down."""

    NOTED = ("provide", "prepare", "arm", "go")

    def __init__(self) -> None:
        self.events: list[str] = []
        self.watchdog = SimpleNamespace(
            await_start=self._ignore, dwell=self._ignore, stop=self._ignore, gap=lambda: 0
        )

    def _ignore(self, *_arguments: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any) -> Any:
            if name in self.NOTED:
                number = arguments[0] if isinstance(arguments[0], int) else ""
                self.events.append(f"{name} {number}".strip())
            return {"audit_round": (1, []), "fill_seconds": 0.0}.get(name)

        return called


@pytest.fixture
def notes() -> Notes:
    return Notes()


def clock_of(notes: Any) -> DeviceClock:
    return DeviceClock(client=notes, freezer=None, ring=notes)


def test_slots_hold_values_whenever_the_candidate_captures_its_calls(notes: Notes) -> None:
    clock = clock_of(notes)
    for calls in (1, 5, 5, 3):
        clock.round(calls, 1.0)
    clock.single(1.0)
    # A candidate captures where the number of calls changes, and makes them once: on values that are thrown
    # away, since each round is filled again after it.
    assert notes.events == [
        *("provide 1", "arm 1", "prepare 1", "go"),
        *("provide 5", "arm 5", "prepare 5", "go"),
        *("arm 5", "prepare 5", "go"),
        *("provide 3", "arm 3", "prepare 3", "go"),
        *("provide 1", "arm 1", "prepare 1", "go"),
    ]


def test_another_case_begins_with_values_of_its_own(notes: Notes) -> None:
    for _ in range(2):
        clock_of(notes).round(4, 1.0)
    assert notes.events.count("provide 4") == 2


def test_a_candidate_that_could_not_be_armed_is_not_taken_for_armed(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_of(notes)

    def fail(*_arguments: Any) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(notes, "arm", fail, raising=False)
        with pytest.raises(TimeoutError):
            clock.round(2, 1.0)
    clock.round(2, 1.0)
    assert notes.events.count("provide 2") == 2
