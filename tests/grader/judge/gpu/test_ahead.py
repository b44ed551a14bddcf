"""What is started ahead of its use: on a device no second ring, for which there may be no room."""

from types import SimpleNamespace
from typing import Any

import pytest

from grader.judge.phases import timed


class _Sandboxes:
    def __init__(self, device: Any) -> None:
        self.device = device
        self.started: list[tuple[str, int]] = []

    def ahead(self, purpose: str, arena_bytes: int, *, pinned: bool = False) -> None:
        assert pinned
        self.started.append((purpose, arena_bytes))


@pytest.mark.parametrize(("device", "started"), [(None, [("timed", 48 << 30)]), (object(), [])])
def test_the_ring_of_an_empty_candidate_meets_no_other_on_a_device(
    device: Any, started: list[tuple[str, int]]
) -> None:
    sandboxes = _Sandboxes(device)
    plan = SimpleNamespace(together=None, arena_bytes=48 << 30)
    nothing = SimpleNamespace(together=list, groups=lambda _cases: [])
    context: Any = SimpleNamespace(sandboxes=sandboxes, timed_plans=(plan,), plan=nothing)
    timed.start_ahead(context)
    assert sandboxes.started == started
