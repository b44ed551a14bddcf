"""The event loop: order, whole nanoseconds, no way back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.simulate.events import Loop, PastError


@given(st.lists(st.integers(0, 5)))
def test_events_come_in_order_of_time_then_of_planning(times: list[int]) -> None:
    loop: Loop[int] = Loop()
    for number, time in enumerate(times):
        loop.at(time, number)
    assert len(loop) == len(times)
    seen = []
    while (event := loop.next()) is not None:
        assert loop.now == times[event]
        seen.append((loop.now, event))
    assert seen == sorted(seen)
    assert len(seen) == len(times)


def test_nothing_is_planned_for_the_past_or_between_two_nanoseconds() -> None:
    loop: Loop[str] = Loop()
    loop.after(3, "a")
    assert loop.next() == "a"
    loop.after(0, "now")
    for time in (2, -1):
        with pytest.raises(PastError):
            loop.at(time, "before")
    for no_time in (3.5, True, None):
        with pytest.raises(TypeError):
            loop.at(no_time, "half")  # type: ignore[arg-type]
    loop.clear()
    assert (loop.next(), loop.now) == (None, 3)
