"""The slots of a timed case on a device: filled in one burst, gathered within the clock, audited after it.

There is no private image of the ring, which takes most of the device: inputs are made again from the table
that filled the round when they are audited.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from grader import fills
from grader.contract import Verdict
from grader.fills import SEED_BITS
from grader.judge import authored, poison
from grader.judge.audit import Comparison
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.gpu.arena import DeviceArena
from grader.judge.gpu.audit import Audit
from grader.judge.gpu.fill import REGION, Burst, Recorder, Regions, poison_and_canaries
from grader.judge.gpu.gather import Gather
from grader.judge.gpu.kernels import Launch, address, processors
from grader.judge.gpu.link import Link
from grader.judge.gpu.watchdog import Watchdog
from grader.judge.layout import SlotLayout
from grader.messages import text
from grader.task import Case, FunctionTask, Slot

EVICTED = 2
"""Times the last-level cache."""
_WORKING_SLOTS = 12
_WORKING_SLOTS_BY_ROWS = 7
_WORKING_BYTES = 3 << 30
_TRIED_BYTES = 1 << 30
_TRIES = 4
_TRY_SECONDS = 10.0
_TAIL = 8
"""Last bytes of the last slot (a canary), which the watchdog writes."""


class DeviceRing:
    """Consecutive slots from the start of `arena`, each used once a round; values are never used twice."""

    def __init__(
        self,
        arena: DeviceArena,
        slots: Sequence[SlotLayout],
        task: FunctionTask,
        case: Case,
        llc_bytes: int,
        *,
        linked: bool = False,
    ) -> None:
        """`linked`: the arena has room for a link's key behind the last slot."""
        import torch

        self.slots = tuple(slots)
        self._arena = arena
        self._task = task
        self._case = case
        self._tensors = [placement.tensor for placement in slots[0].plan.placements]
        self._written = [tensor.name for tensor in self._tensors if tensor.role != "out"]
        self._views = [arena.tensors(slot) for slot in self.slots]
        self._seeds: list[int] = []
        self._base = arena.bytes().data_ptr()
        self.link = Link(self.slots, self.slots[-1].end, self._base) if linked else None
        self._inputs: Regions = np.empty(0, REGION)
        """What fills the inputs of the current round."""
        self._audit = Audit(arena, self.slots, self._base, task, case, self.link)
        self._gaps, self._rest = poison_and_canaries(self.slots, self._base)
        self._junk = torch.ones(max(16, EVICTED * llc_bytes), dtype=torch.uint8, device="cuda")
        self._never = torch.zeros(1, dtype=torch.int64, device="cuda")
        self._evict = Launch(
            "evict",
            8 * processors(),
            256,
            [
                address(self._junk.data_ptr()),
                address(self._junk.numel() // 16),
                address(self._never.data_ptr()),
            ],
        )
        self._events = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
            for _ in range(2)
        ]
        self._burst: Burst | None = None
        self._gather: Gather | None = None
        self.watchdog: Watchdog | None = None
        self._before = self._taken = self._after = torch.empty(0)
        self._launches: list[Launch] = []

    def prepare(self, count: int) -> None:
        """Draw seeds and secret places for the first `count` slots; nothing is written yet.

        Raises AssignmentFault if the task's fill fails.
        """
        import torch

        slots = self.slots[:count]
        self._seeds = [secrets.randbits(SEED_BITS) for _ in range(count)]
        recorder = Recorder()
        self._record(recorder, [self._views[i] for i in range(count)], self._seeds)
        share = count / len(self.slots)
        gaps = self._gaps[: round(len(self._gaps) * share)]
        rest = self._rest[: round(len(self._rest) * share)]
        self._inputs = recorder.take()
        keys = [self.link.key()] if self.link else []
        self._burst = Burst([gaps, np.concatenate([rest, self._inputs, *keys])])
        self._gather = Gather(slots, self._base)
        self._before, self._taken, self._after = (self._gather.empty() for _ in range(3))
        self._launches = [self._gather.into(t) for t in (self._before, self._taken, self._after)]
        last = self._base + slots[-1].end - _TAIL
        self.watchdog = Watchdog(last, _TAIL, poison.CANARY * 0x0101010101010101)
        self.watchdog.reset()
        torch.cuda.synchronize()

    def provide(self, count: int) -> None:
        """Fill the first `count` slots and wait until that is done. Raises AssignmentFault."""
        import torch

        self.prepare(count)
        assert self._burst is not None
        self._burst.queue()
        torch.cuda.synchronize()

    def queue(self) -> None:
        """Queue fill, eviction, a look at the poison, and the watchdog, with nothing in between."""
        assert self._burst is not None
        assert self.watchdog is not None
        self._events[0].record()
        self._burst.queue()
        self._events[1].record()
        self._evict.queue()
        self._launches[0].queue()
        self.watchdog.queue()

    def gather(self) -> None:
        """Take the secret elements of every slot and wait until they are there: the clock's end."""
        import torch

        self._launches[1].queue()
        torch.cuda.synchronize()

    def fill_seconds(self) -> float:
        """Seconds that the device took for the last fill."""
        return float(self._events[0].elapsed_time(self._events[1])) * 1e-3

    def filled_bytes(self, count: int) -> int:
        """Bytes that a fill of `count` slots writes, about."""
        return count * self.slots[0].plan.stride

    def touched_early(self) -> bool:
        """Whether an output had lost its poison before `go`."""
        assert self._gather is not None
        missing = self._gather.plain & ~self._gather.poisoned(self._before)
        return bool(missing.any())

    def changed_late(self) -> int | None:
        """A slot of which a gathered element has changed since the clock stopped, if there is one."""
        self._launches[2].queue()
        changed = (self._taken != self._after).any(1).nonzero()
        return int(changed[0]) if len(changed) else None

    def unwritten(self) -> list[int]:
        """Slots in which a gathered element still held its poison when the clock stopped."""
        assert self._gather is not None
        suspects: list[int] = self._gather.poisoned(self._taken).any(1).nonzero().flatten().tolist()
        return suspects

    def check_intact(self, count: int) -> None:
        """Raise CandidateFailure if a canary of the first `count` slots has changed."""
        for slot, name in self._arena.disturbed(self.slots[:count]):
            raise CandidateFailure(
                Verdict.WRONG_ANSWER, text("outside", output=name), detail=f"slot {slot.index}"
            )

    def audit_round(self, count: int, sample: int | None) -> tuple[int, list[Comparison]]:
        """Audit a round of `count` calls: how many of them were, and one Comparison an output over all.

        `sample` slots are drawn, None takes all, where the task has nothing better to offer. Raises
        AssignmentFault if the oracle fails, CandidateFailure for an input that was written to.
        """
        return self._audit.round(count, sample, self.unwritten(), self._inputs)

    def audit(self, indices: Sequence[int]) -> list[Comparison]:
        """Recompute these slots as a whole and compare: one Comparison an output, joined over the slots."""
        return self._audit.slots(indices, self._inputs)

    def _record(self, recorder: Recorder, views: Sequence[Slot], seeds: Sequence[int]) -> None:
        slots: list[Slot] = [{name: slot[name] for name in self._written} for slot in views]
        before = _versions(slots)
        with fills.recording(recorder):
            authored.guard("fill", self._case, lambda: self._task.fill(self._case.params, slots, seeds))
        if _versions(slots) != before:
            raise AssignmentFault(
                "fill", "on a device a timed case is filled by the functions of grader.fills alone"
            )

    def close(self) -> None:
        """Let go of everything; torch keeps the memory for the next ring."""
        self._views.clear()
        self._burst = self._gather = self.watchdog = None
        self._launches.clear()
        del self._audit, self._junk


def working_bytes(task: FunctionTask, slot_bytes: int) -> int:
    """Bytes of the device that the judge needs beside a ring: two slots, and the oracle's float64 copies.

    Of tasks that are audited by rows the oracle sees some rows, and rarely a slot as a whole.
    """
    return (_WORKING_SLOTS_BY_ROWS if task.rowwise else _WORKING_SLOTS) * slot_bytes + _WORKING_BYTES


def rehearse(task: FunctionTask, case: Case, slots: Sequence[SlotLayout], llc_bytes: int) -> float:
    """Go through a round without a candidate; the rate of the fill in bytes/s with nobody else on the device.

    Afterwards every kernel of the judge's is loaded and its memory is taken, whatever a candidate leaves.
    Raises AssignmentFault.
    """
    few = slots[: max(1, _TRIED_BYTES // slots[0].plan.stride)]
    arena = DeviceArena(few[-1].end)
    best = 0.0
    try:
        ring = DeviceRing(arena, few, task, case, llc_bytes)
        for _ in range(_TRIES):
            ring.prepare(len(few))
            ring.queue()
            assert ring.watchdog is not None
            ring.watchdog.await_start(_TRY_SECONDS)
            ring.watchdog.stop()
            ring.gather()
            best = max(best, ring.filled_bytes(len(few)) / ring.fill_seconds())
        ring.touched_early()
        ring.changed_late()
        ring.unwritten()
        ring.check_intact(len(few))
        ring.audit([0])
        with suppress(CandidateFailure):  # There is no candidate: nothing was written.
            ring.audit_round(len(few), 1)
        ring.close()
    finally:
        arena.close()
    return best


def _versions(slots: Sequence[Slot]) -> list[int]:
    """Counts of torch's own writes to these tensors."""
    return [view._version for slot in slots for view in slot.values()]  # noqa: SLF001
