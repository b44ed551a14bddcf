"""The proof of consumption: what counts as deaf, and what does not."""

from collections.abc import Callable

import pytest

from grader.node.probe import Probe


class Clock:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("grader.node.probe.time.monotonic", found)
    return found


def _run(probe: Probe, clock: Clock, seconds: int, each: Callable[[], None] = lambda: None) -> None:
    for _ in range(seconds):
        clock.now += 1.0
        probe.ask()
        each()


def test_an_answered_probe_is_a_proof(clock: Clock) -> None:
    sent: list[str] = []
    probe = Probe(sent.append, period=10, patience=30, hopeless=90)
    assert probe.age is None
    _run(probe, clock, 100, lambda: probe.answer(sent[-1]))
    assert len(sent) == 10
    assert probe.consuming
    assert probe.age == 0.0


def test_an_idle_worker_without_answers_is_deaf_then_hopeless_and_may_recover(clock: Clock) -> None:
    sent: list[str] = []
    probe = Probe(sent.append, period=10, patience=30, hopeless=90)
    _run(probe, clock, 30)
    assert (probe.consuming, probe.hopeless) == (True, False)
    _run(probe, clock, 5)
    assert (probe.consuming, probe.hopeless) == (False, False)
    _run(probe, clock, 60)
    assert (probe.consuming, probe.hopeless) == (False, True)
    probe.answer(sent[0])  # Late, but it came.
    assert (probe.consuming, probe.hopeless) == (True, False)


def test_a_job_at_hand_and_a_broker_that_is_away_prove_nothing(clock: Clock) -> None:
    away = True

    def send(_: str) -> None:
        if away:
            raise OSError("no route")

    probe = Probe(send, period=10, patience=30, hopeless=90)
    seen = []
    _run(probe, clock, 300, lambda: seen.append(probe.consuming))
    away = False
    _run(probe, clock, 25, lambda: seen.append(probe.consuming))
    probe.busy = True
    _run(probe, clock, 1000, lambda: seen.append(probe.consuming))
    probe.busy = False
    _run(probe, clock, 20, lambda: seen.append(probe.consuming))
    assert all(seen)
    _run(probe, clock, 30)
    assert not probe.consuming
