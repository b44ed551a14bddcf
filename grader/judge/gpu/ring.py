"""The slots of a timed case on a device: filled in one burst, gathered within the clock, audited after it.

There is no private image of the ring, which takes most of the device: inputs are made again from the table
that filled the round when they are audited.
"""

import secrets
from collections.abc import Mapping, Sequence
from random import SystemRandom

import numpy as np

from grader import fills
from grader.contract import Verdict
from grader.fills import SEED_BITS
from grader.judge import authored, freivalds, poison
from grader.judge.arena import same_bits
from grader.judge.audit import Comparison
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.gpu.arena import DeviceArena, Private
from grader.judge.gpu.fill import REGION, Burst, Recorder, Regions, poison_and_canaries
from grader.judge.gpu.gather import Gather
from grader.judge.gpu.kernels import Launch, address, processors
from grader.judge.gpu.link import Link
from grader.judge.gpu.rowaudit import RowAudit
from grader.judge.gpu.watchdog import Watchdog
from grader.judge.layout import SlotLayout
from grader.messages import text
from grader.task import Case, FunctionTask, Slot, Tolerance

EVICTED = 2
"""Times the last-level cache."""
_WORKING_SLOTS = 12
_WORKING_BYTES = 1 << 30
_TRIED_BYTES = 1 << 30
_TRIES = 4
_TRY_SECONDS = 10.0
_TAIL = 8
"""Last bytes of the last slot (a canary), which the watchdog writes."""
_SUSPECTS = 4
"""Slots that look unwritten and are audited whole beside the rows of all."""
_TESTED_SLOTS = 256
"""Slots of a round to which Freivalds's test is put, and so many of them beside it to the oracle."""
_ASKED_SLOTS = 2


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
        stride = slots[0].plan.stride
        self._one = SlotLayout(0, 0, slots[0].plan)
        self._mine, self._found = Private(stride), Private(stride)
        self._base = arena.bytes().data_ptr()
        self.link = Link(self.slots, self.slots[-1].end, self._base) if linked else None
        self._states = torch.empty(0)
        self._inputs: Regions = np.empty(0, REGION)
        """What fills the inputs of the current round."""
        self._slot_of: np.ndarray[tuple[int], np.dtype[np.int64]] = np.empty(0, np.int64)
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
        offsets = self._inputs["address"].astype(np.int64) - self._base - self.slots[0].start
        self._slot_of = offsets // self.slots[0].plan.stride
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
        suspects = self.unwritten()
        if self.link is not None:
            self._states = self.link.states(count)
        elif self._task.rowwise:
            joined = self.audit(suspects[:_SUSPECTS])
            if all(result.passed for result in joined):
                whole = RowAudit(self._arena, self.slots[:count], self._base, self._inputs, self._case)
                joined = _join(joined, whole.run(self._expected))
            return count, joined
        elif self._task.product is not None:
            return self._audit_products(count, suspects)
        some = sample is not None and sample < count
        drawn = SystemRandom().sample(range(count), sample or 0) if some else range(count)
        slots = list(dict.fromkeys([*suspects, *drawn]))
        return len(slots), self.audit(slots)

    def audit(self, indices: Sequence[int]) -> list[Comparison]:
        """Recompute these slots and compare: one Comparison an output, joined over the slots.

        Stops at the first slot that fails. Raises AssignmentFault if the oracle fails, CandidateFailure for
        an input that was written to.
        """
        joined: list[Comparison] = []
        for index in indices:
            joined = _join(joined, self._audit_slot(index))
            if not all(result.passed for result in joined):
                break
        return joined

    def _audit_products(self, count: int, suspects: Sequence[int]) -> tuple[int, list[Comparison]]:
        """Freivalds's test on many slots; the oracle on a few, and on those that do not pass it."""
        product = self._task.product
        assert product is not None
        tested = SystemRandom().sample(range(count), min(count, _TESTED_SLOTS))
        asked = list(dict.fromkeys([*suspects[:_SUSPECTS], *tested[:_ASKED_SLOTS]]))
        tolerance = self._case.tolerance
        limits = tolerance.get(product.out, tolerance.get("*", Tolerance(0.0, 0.0, 0.0)))
        joined = self.audit(asked)
        for index in tested[_ASKED_SLOTS:]:
            if not all(result.passed for result in joined):
                break
            mine, found = self._pair(index)
            passed = freivalds.holds(product, mine, found, limits)
            joined = _join(joined, [passed] if passed else self._compared(mine, found))
        return len(tested), joined

    def _audit_slot(self, index: int) -> list[Comparison]:
        return self._compared(*self._pair(index))

    def _pair(self, index: int) -> tuple[Slot, Slot]:
        """(the judge's own inputs, what was found) of a slot, both in private memory.

        Raises CandidateFailure for an input that was written to.
        """
        slot = self.slots[index]
        self._found.bytes().copy_(self._arena.bytes()[slot.start : slot.end])
        mine, found = self._mine.tensors(self._one), self._found.tensors(self._one)
        table = self._inputs[self._slot_of == index]
        # Addresses wrap around as the numbers of the table do.
        table["address"] += np.uint64((self._mine.bytes().data_ptr() - self._base - slot.start) % (1 << 64))
        Burst([table]).queue()
        if self.link is not None and index > 0:
            self.link.flip(mine, self._states, index)
        for tensor in self._tensors:
            if tensor.role == "in" and not same_bits(found[tensor.name], mine[tensor.name]):
                raise CandidateFailure(Verdict.WRONG_ANSWER, text("input_modified", name=tensor.name))
        return mine, found

    def _compared(self, mine: Slot, found: Slot) -> list[Comparison]:
        given = {name: mine[name] for name in self._written}
        expected = authored.guard("oracle", self._case, lambda: self._expected(given))
        return authored.compare(self._tensors, found, expected, self._case)

    def _expected(self, given: Slot) -> object:
        """What the oracle returned, its tensors on the device; what else it holds the comparison refuses."""
        import torch

        expected: object = self._task.oracle(self._case.params, given)
        if not isinstance(expected, Mapping):
            return expected
        return {
            name: values.to("cuda") if isinstance(values, torch.Tensor) else values
            for name, values in expected.items()
        }

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
        del self._mine, self._found, self._junk


def _join(left: list[Comparison], right: list[Comparison]) -> list[Comparison]:
    """The same outputs over both; either may be nothing yet."""
    if not left or not right:
        return left or right
    return [a.join(b) for a, b in zip(left, right, strict=True)]


def working_bytes(slots: Sequence[SlotLayout]) -> int:
    """Bytes of the device that the judge needs beside a ring: two slots, and the oracle's float64 copies."""
    return _WORKING_SLOTS * slots[0].plan.stride + _WORKING_BYTES


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
        if task.rowwise:
            RowAudit(arena, few, arena.bytes().data_ptr(), ring._inputs, case).run(ring._expected)  # noqa: SLF001
        ring.close()
    finally:
        arena.close()
    return best


def _versions(slots: Sequence[Slot]) -> list[int]:
    """Counts of torch's own writes to these tensors."""
    return [view._version for slot in slots for view in slot.values()]  # noqa: SLF001
