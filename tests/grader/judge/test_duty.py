"""The duty cycle of a CPU: rests have a least length, and are counted."""

import time

from grader.judge.duty import DWELL_SECONDS, Duty


def test_rests_count_from_the_end_of_a_rounds_work() -> None:
    duty = Duty()
    begin = time.monotonic()
    duty.ended()
    duty.rest()
    assert time.monotonic() - begin >= DWELL_SECONDS
    duty.ended()
    time.sleep(2 * DWELL_SECONDS)
    before = duty.cycle
    duty.rest()  # It has rested long enough.
    duty.ended()
    assert before < duty.cycle < 1


def test_a_duty_without_rounds_has_no_cycle() -> None:
    assert Duty().cycle == 0.0
