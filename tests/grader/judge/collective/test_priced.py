"""Ranks alone in sandboxes: what one of them does wrong, its verdict, who is named; and the price."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from grader import fills, network
from grader.contract import Verdict
from grader.judge.authored import unwatched
from grader.judge.collective import case as collective
from grader.judge.collective.case import Priced
from grader.judge.collective.team import Team
from grader.judge.correctness import CaseRun
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import Case, CollectiveTask, Cost, Params, Slot, Tensor

RANKS = 3
SHIFT = """
import ctypes, os, sys, time
import numpy as np

def shift(comm, x, out, *, mode):
    last = comm.size - 1
    if mode == 1 and comm.rank == last:
        comm.send(comm.rank, x)
    if mode == 2 and comm.rank == last:
        comm.send(comm.size, x)
    if mode == 3 and comm.rank == last:
        comm.recv(-1, out)
    if mode == 4 and comm.rank == last:
        os._exit(7)
    if mode == 5 and comm.rank == last:
        ctypes.string_at(1)
    if mode == 6 and comm.rank == last:
        while True: pass
    if mode == 7 and comm.rank == last:
        time.sleep(60)
    if mode == 8 and comm.rank == last:
        comm.send(0, np.zeros(1 << 20))
    if mode == 9 and comm.rank == last:
        for _ in range(10000):
            comm.send(0, x)
    if mode == 10 and comm.rank == last:
        x[0] += 1
    if mode == 11 and comm.rank == last:
        np.lib.stride_tricks.as_strided(out, (len(out) + 1,), out.strides)[-1] = 0
    if mode == 12 and comm.rank == last:
        raise KeyError("rank")
    if mode == 13 and comm.rank == last:
        return
    if mode == 14:
        comm.recv((comm.rank + 1) % comm.size, out)
    if mode == 15 and comm.rank == last:
        os.write(4, b"\\x05\\x00\\x00\\x00hello")
        time.sleep(60)
    if mode == 16 and comm.rank == last:
        sys.stderr.write("x" * (2 << 20))
    if mode == 17 and comm.rank == 0:
        comm.send(1, x)
    comm.send((comm.rank + 1) % comm.size, x)
    comm.recv((comm.rank - 1) % comm.size, out)
    if mode == 18 and comm.rank == last:
        out[-1] += 1
"""


def _tensors(_params: Params, _rank: int) -> Sequence[Tensor]:
    return Tensor("x", "int32", (100,), "in"), Tensor("out", "int32", (100,), "out")


def _fill(_params: Params, rank: int, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    for slot, seed in zip(slots, seeds, strict=True):
        fills.integers(slot["x"], seed, f"x of {rank}", -1000, 1000)


def _oracle(_params: Params, inputs: Sequence[Slot]) -> Sequence[Slot]:
    return [{"out": inputs[rank - 1]["x"]} for rank in range(len(inputs))]


TASK = CollectiveTask(
    ranks=lambda params: int(params.get("ranks", RANKS)),
    tensors=_tensors,
    fill=_fill,
    oracle=_oracle,
    cost=lambda _params: Cost(link_bytes=400.0),
    scalars=lambda params, _rank: {"mode": params["mode"]},
    priced=True,
    network=lambda params: network.switch(params.get("ranks", RANKS), 1_000_000, 1_000),
    bound=lambda params, _inputs: (params.get("bound", 1400.0), "bandwidth"),
    calls=lambda params: int(params.get("calls", 1)),
)


@pytest.fixture(scope="module")
def team() -> Iterator[Any]:
    """Ranks with the submission loaded; new ones where the last case has killed some."""
    teams: list[Team] = []

    def current() -> Team:
        if not teams or not teams[-1].alive:
            size = collective.arena_bytes(TASK, _case(0, calls=3), unwatched)
            teams.append(Team.start(registry.choose("bubblewrap"), Limits(), RANKS, size))
            teams[-1].ready()
            teams[-1].load({"solution.py": SHIFT.encode()}, "shift", "solution.py")
        return teams[-1]

    yield current
    for one in teams:
        one.close()


def _case(mode: int, **params: Any) -> Case:
    return Case("shift", "shift", "public", "test", {"mode": mode, **params})


def run(team: Any, mode: int, seconds: float = 3.0, **params: Any) -> CaseRun:
    return collective.test(
        team(), TASK, _case(mode, **params), 5, entry="shift", call_seconds=seconds, watch=unwatched
    )


@pytest.mark.parametrize(
    ("mode", "verdict", "said"),
    [
        (
            1,
            Verdict.RUNTIME_ERROR,
            "Rank 2 failed: It sends a message to itself (`2`), at solution.py, line 8",
        ),
        (2, Verdict.RUNTIME_ERROR, "Rank 2 failed: It sends a message to rank 3, at solution.py, line 10"),
        (
            3,
            Verdict.RUNTIME_ERROR,
            "Rank 2 failed: It waits for a message from rank -1, at solution.py, line 12",
        ),
        (4, Verdict.RUNTIME_ERROR, "exit code 7"),
        (5, Verdict.RUNTIME_ERROR, "Rank 2 failed, last seen at"),
        (6, Verdict.TIME_LIMIT, "It was at: solution.py, line 18, in shift"),
        (7, Verdict.TIME_LIMIT, "It was at: solution.py, line 20, in shift"),
        (8, Verdict.OUTPUT_LIMIT, "one message holds at most"),
        (9, Verdict.OUTPUT_LIMIT, "this call allows a rank"),
        (10, Verdict.WRONG_ANSWER, "On rank 2 of 3: The input x was modified"),
        (11, Verdict.WRONG_ANSWER, "On rank 2 of 3: Memory next to out was overwritten"),
        (12, Verdict.RUNTIME_ERROR, "Rank 2 failed: The code raised an exception: KeyError"),
        (13, Verdict.RUNTIME_ERROR, "Rank 2 failed: It has returned, but rank 0 still waits"),
        (14, Verdict.RUNTIME_ERROR, "Deadlock: every rank that has not returned waits"),
        (15, Verdict.SANDBOX_VIOLATION, "Rank 2 failed"),
        (16, Verdict.OUTPUT_LIMIT, "Rank 2 failed"),
        (17, Verdict.WRONG_ANSWER, "Rank 1"),
        (18, Verdict.WRONG_ANSWER, "On rank 2 of 3: out is wrong in 1 of 100"),
    ],
)
def test_a_rank_that_does_wrong_is_named(team: Any, mode: int, verdict: Verdict, said: str) -> None:
    result = run(team, mode).result
    assert result.message is not None
    assert said in result.message.en
    assert result.verdict is verdict


def test_ranks_that_were_told_of_a_failure_serve_the_next_case(team: Any) -> None:
    before = team()
    for mode in (12, 14, 1):
        assert run(team, mode).alive
    assert run(team, 0, calls=3).result.verdict is Verdict.ACCEPTED
    assert team() is before


def test_calls_end_with_the_wall_time_of_the_sandboxes() -> None:
    size = collective.arena_bytes(TASK, _case(0), unwatched)
    backend, limits = registry.choose("bubblewrap"), Limits(wall_seconds=6.0)
    with closing(Team.start(backend, limits, RANKS, size)) as team:
        team.ready()
        team.load({"solution.py": SHIFT.encode()}, "shift", "solution.py")
        result = run(lambda: team, 7, seconds=600.0).result
    assert result.verdict is Verdict.TIME_LIMIT


def price(team: Any, **params: Any) -> Priced:
    case = Case("shift", "shift", "public", "timed", {"mode": 0, **params})
    return collective.price(team(), TASK, case, 5, entry="shift", call_seconds=3.0, watch=unwatched)


def test_the_price_is_that_of_the_messages(team: Any) -> None:
    found = price(team).result
    assert found.measure is not None
    assert (found.measure.value, found.measure.unit, found.fraction, found.calls) == (
        1400.0,
        "ns",
        1.0,
        RANKS,
    )
    assert price(team, bound=700.0).result.fraction == 0.5


def test_a_price_below_the_bound_is_faster_than_light(team: Any) -> None:
    found = price(team, bound=1401.0)
    assert found.result.verdict is Verdict.FASTER_THAN_LIGHT
    assert found.evidence[0].measured == 1400.0


def test_a_case_may_have_fewer_ranks_than_the_team(team: Any) -> None:
    assert run(team, 0, ranks=2).result.verdict is Verdict.ACCEPTED
