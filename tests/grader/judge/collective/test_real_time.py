"""Ranks in one sandbox that talk over gloo: what one of them does wrong, and who is named."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from grader import fills
from grader.contract import Verdict
from grader.hardware.profile import Hardware
from grader.judge import cores, timed
from grader.judge.authored import unwatched
from grader.judge.collective import case as collective
from grader.judge.collective import timed as collective_timed
from grader.judge.collective.group import Group
from grader.judge.correctness import CaseRun
from grader.judge.overhead import Overhead
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import Case, CollectiveTask, Cost, Params, Slot, Tensor

RANKS = 4
ARENA_BYTES = 4 << 20
LIMITS = Limits(memory_bytes=2 << 30)
DRAM = 1e8
"""Of a made-up machine: bytes a second, so that a round has some thirty calls."""
ELEMENTS = 1000
SHIFT = """
import ctypes, os, sys, time
import torch
import torch.distributed as dist

def send_on(x, out):
    rank, size = dist.get_rank(), dist.get_world_size()
    request = dist.isend(x, (rank + 1) % size)
    dist.recv(out, (rank - 1) % size)
    request.wait()

def shift(x, out, *, mode):
    rank, size = dist.get_rank(), dist.get_world_size()
    last = rank == size - 1
    if mode == 1 and last:
        os._exit(7)
    if mode == 2 and last:
        ctypes.string_at(1)
    if mode == 3 and last:
        while True: pass
    if mode == 4 and last:
        time.sleep(60)
    if mode == 5 and last:
        return
    if mode == 6:
        dist.recv(out, (rank - 1) % size)
    if mode == 7 and last:
        raise KeyError("rank")
    if mode == 8 and last:
        x[0] += 1
    if mode == 9 and last:
        ctypes.memset(out.data_ptr() + out.nbytes, 0, 4)
    if mode == 10 and last:
        os.write(4, b"\\x05\\x00\\x00\\x00hello")
        time.sleep(60)
    if mode == 11 and last:
        sys.stderr.write("x" * (2 << 20))
    if mode == 12 and last:
        os.kill(os.getpid(), 19)
    if mode == 13 and last:
        for other in os.listdir("/proc"):
            try:
                if not other.isdigit() or int(other) == os.getpid():
                    continue
                memory = os.open(f"/proc/{other}/fd/5", os.O_RDWR)
                os.pwrite(memory, b"\\xff" * 64, 256)
            except OSError:
                pass
    if mode == 14 and last:
        os.kill(os.getppid(), 9)
        time.sleep(60)
    if mode == 20 and last:
        kept = b"x" * (4 << 30)
    while mode == 21 and last:
        os.write(7, b"x" * 65536)
    send_on(x, out)
    if mode == 15 and last:
        out[-1] += 1
    if mode >= 16:
        time.sleep(0.001)
        calls.append(None)
    if mode == 17 and last and len(calls) > 3:
        time.sleep(60)
    if mode == 18 and last and len(calls) > 3:
        out[0] += 1
    if mode == 19 and last and len(calls) == 2:
        os.write(4, b"\\x14\\x00\\x00\\x00done0123456789abcdef")

calls = []
"""


def _tensors(_params: Params, _rank: int) -> Sequence[Tensor]:
    return Tensor("x", "int32", (ELEMENTS,), "in"), Tensor("out", "int32", (ELEMENTS,), "out")


def _fill(_params: Params, rank: int, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    for slot, seed in zip(slots, seeds, strict=True):
        fills.integers(slot["x"], seed, f"x of {rank}", -(1 << 31), (1 << 31) - 1)


def _oracle(_params: Params, inputs: Sequence[Slot]) -> Sequence[Slot]:
    return [{"out": inputs[rank - 1]["x"]} for rank in range(len(inputs))]


TASK = CollectiveTask(
    ranks=lambda params: int(params.get("ranks", RANKS)),
    tensors=_tensors,
    fill=_fill,
    oracle=_oracle,
    cost=lambda params: Cost(dram_bytes=8.0 * ELEMENTS * params.get("ranks", RANKS)),
    scalars=lambda params, _rank: {"mode": params["mode"]},
    calls=lambda params: int(params.get("calls", 1)),
)


@pytest.fixture(scope="module")
def group() -> Iterator[Any]:
    """Ranks with the submission loaded; new ones where the last case has killed them."""
    groups: list[Group] = []

    def current() -> Group:
        if not groups or not groups[-1].alive:
            if groups:
                groups[-1].close()
            size = ARENA_BYTES
            groups.append(Group.start(registry.choose("bubblewrap"), LIMITS, RANKS, size))
            groups[-1].ready()
            groups[-1].load({"solution.py": SHIFT.encode()}, "shift", "solution.py")
        return groups[-1]

    yield current
    groups[-1].close()


def _case(mode: int, **params: Any) -> Case:
    return Case("shift", "shift", "public", "test", {"mode": mode, **params})


def run(group: Any, mode: int, seconds: float = 3.0, **params: Any) -> CaseRun:
    return collective.test(
        group(), TASK, _case(mode, **params), 5, entry="shift", call_seconds=seconds, watch=unwatched
    )


def test_ranks_serve_case_after_case(group: Any) -> None:
    before = group()
    for ranks in (4, 2, 3, 4):
        result = run(group, 0, seconds=20.0, ranks=ranks, calls=3).result
        assert result.verdict is Verdict.ACCEPTED, result.message
    for mode in (7, 8, 15):
        assert run(group, mode, seconds=20.0).alive
    assert run(group, 0, seconds=20.0).result.verdict is Verdict.ACCEPTED
    assert group() is before


@pytest.mark.parametrize(
    ("mode", "verdict", "said"),
    [
        (1, Verdict.RUNTIME_ERROR, "Rank 3 failed: The code ended the program (exit code 7)"),
        (2, Verdict.RUNTIME_ERROR, "Rank 3 failed, last seen at solution.py, line 18, in shift"),
        (3, Verdict.TIME_LIMIT, "It was at: solution.py, line 20, in shift"),
        (4, Verdict.TIME_LIMIT, "Rank 3 failed: It did not return within 3 s"),
        (
            5,
            Verdict.RUNTIME_ERROR,
            "Still waiting for a message after 3 s: rank 0 (solution.py, line 9, in send_on)",
        ),
        (6, Verdict.RUNTIME_ERROR, "Deadlock: after 3 s every rank waits"),
        (7, Verdict.RUNTIME_ERROR, "Rank 3 failed: The code raised an exception: KeyError"),
        (8, Verdict.WRONG_ANSWER, "On rank 3 of 4: The input x was modified"),
        (9, Verdict.WRONG_ANSWER, "On rank 3 of 4: Memory next to out was overwritten"),
        (10, Verdict.SANDBOX_VIOLATION, "Rank 3 failed"),
        (11, Verdict.OUTPUT_LIMIT, ""),
        (12, Verdict.TIME_LIMIT, "Rank 3 failed: It did not return within 3 s"),
        (13, Verdict.WRONG_ANSWER, "On rank 0 of 4: The input x was modified"),
        (14, Verdict.RUNTIME_ERROR, "SIGKILL"),
        (15, Verdict.WRONG_ANSWER, "On rank 3 of 4: out is wrong in 1 of 1000"),
        (20, Verdict.MEMORY_LIMIT, "2048 MiB"),
        (21, Verdict.TIME_LIMIT, "Rank 3 failed: It did not return within 3 s"),
    ],
)
def test_a_rank_that_does_wrong_is_named(group: Any, mode: int, verdict: Verdict, said: str) -> None:
    waits = verdict is Verdict.TIME_LIMIT or "after 3 s" in said  # The others end by themselves.
    result = run(group, mode, 3.0 if waits else 60.0).result
    assert result.message is not None
    assert said in result.message.en
    assert result.verdict is verdict


@pytest.mark.parametrize("ranks", [2, 4])
def test_rounds_of_ranks_are_timed_and_audited_on_every_rank(
    group: Any, hardware: Callable[..., Hardware], ranks: int
) -> None:
    found = time_(group, hardware(DRAM), 16, ranks)
    result = found.result
    assert result.verdict is Verdict.ACCEPTED, (result.message, found.detail)
    assert result.measure is not None
    assert result.measure.bound == pytest.approx(8.0 * ELEMENTS * ranks / DRAM)
    assert result.measure.value > 0.001  # Every call sleeps as long.
    assert len(result.rounds) >= 11
    assert "the last to answer, and in how many rounds: rank" in found.detail
    (errors,) = result.errors
    assert errors.elements == result.audited_slots * ranks * ELEMENTS


@pytest.mark.parametrize(
    ("mode", "verdict", "said"),
    [
        (17, Verdict.TIME_LIMIT, "Rank 3 failed: It did not return within 2 s"),
        (18, Verdict.WRONG_ANSWER, "out of rank 3"),
        (19, Verdict.SANDBOX_VIOLATION, "Rank 3 failed"),
    ],
)
def test_a_rank_that_does_wrong_in_a_round_is_named(
    group: Any, hardware: Callable[..., Hardware], mode: int, verdict: Verdict, said: str
) -> None:
    group().kill()  # The next ones have made no call yet.
    found = time_(group, hardware(DRAM), mode, RANKS)
    assert found.result.message is not None
    assert said in found.result.message.en
    assert found.result.verdict is verdict


@pytest.mark.parametrize(("given", "code"), [({1, 2, 3}, "ranks_share_cores"), ({1, 2, 3, 4}, None)])
def test_ranks_that_share_cores_are_not_ranked(
    group: Any,
    hardware: Callable[..., Hardware],
    monkeypatch: pytest.MonkeyPatch,
    given: set[int],
    code: str | None,
) -> None:
    monkeypatch.setattr(cores, "choose", lambda: cores.Cores(0, frozenset(given)))
    reason = timed.unranked(group(), hardware(), Overhead(1e-4, 1e-4))
    assert (reason and reason.code) == (code if group().process.freezer is not None else "no_freezer")


def time_(group: Any, machine: Hardware, mode: int, ranks: int) -> timed.Timing:
    case = Case("shift", "shift", "public", "timed", {"mode": mode, "ranks": ranks})
    plan = collective_timed.plan(TASK, case, machine, unwatched, most_bytes=1 << 30)
    assert plan.arena_bytes <= ARENA_BYTES
    limits = timed.TimeLimits(warm_up=20.0)
    return timed.run(group(), plan, overhead=Overhead(), limits=limits)
