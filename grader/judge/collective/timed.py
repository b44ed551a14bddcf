"""A timed case of ranks that run at the same time: its rings and its bound, for the clock of functions.

The clock runs from the first `go` to the freeze that is confirmed once the last rank has answered. The bound
is that of one call on all ranks together: on a CPU they share one memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.hardware.profile import Hardware
from grader.judge import authored as functions
from grader.judge import timed
from grader.judge.authored import Watch, unwatched
from grader.judge.clock import Slots
from grader.judge.collective import authored
from grader.judge.collective import ring as rings
from grader.judge.collective.group import Group
from grader.judge.collective.ring import Rings
from grader.judge.layout import SlotLayout, slot_bytes
from grader.judge.layout import plan as lay_out
from grader.judge.ring import Ring
from grader.task import Case, CollectiveTask, FunctionTask, Params, Slot


@dataclass(frozen=True)
class Ranks:
    """The slots of every rank of a case; implements `timed.Together`."""

    task: CollectiveTask
    case: Case
    slots: tuple[tuple[SlotLayout, ...], ...]

    @property
    def arena_bytes(self) -> int:
        """Size of the ring of the rank that needs the most."""
        return max(mine[-1].end for mine in self.slots)

    def cut(self, count: int) -> "Ranks":
        """The first so many slots."""
        return replace(self, slots=tuple(mine[:count] for mine in self.slots))

    def ring(self, group: Group) -> Rings:
        """Rings of all ranks as one."""
        shared = rings.pool()
        members = zip(group.ranks, self.slots, strict=False)
        return Rings(
            [
                Ring(rank.arena, mine, as_function(self.task, number), self.case, shared)
                for number, (rank, mine) in enumerate(members)
            ],
            shared,
            self.task,
            self.case,
        )

    def warm_up(self, group: Group, ring: Slots, seconds: float) -> None:
        """Bind all slots and make one call on values that are thrown away. Raises CandidateFailure."""
        group.join(len(self.slots))
        called = authored.signature(group.entry, self.task, self.case, unwatched)
        for number, mine in enumerate(self.slots):
            scalars = authored.scalars(self.task, self.case, number, unwatched)
            group.ranks[number].bind(mine, scalars, entry=group.entry, signature=called)
        ring.fill(1)
        ring.publish(1)
        group.call(1, seconds)


def plan(
    task: CollectiveTask, case: Case, hardware: Hardware | None, watch: Watch, *, most_bytes: int
) -> timed.Plan:
    """Size the rings of a case. Raises AssignmentFault where the task's own functions fail.

    `most_bytes`: what one call may take, on all ranks together.
    """
    by_rank = authored.tensors(task, case, watch)
    largest = max(range(len(by_rank)), key=lambda rank: slot_bytes(by_rank[rank]))
    share = min(timed.RING_BYTES, most_bytes) // len(by_rank)
    functions.fitting("tensors", case, len(by_rank) * slot_bytes(by_rank[largest]), most_bytes)
    one = timed.plan(as_function(task, largest), case, hardware, most_bytes=share)
    slots = tuple(lay_out(tensors, len(one.slots)) for tensors in by_rank)
    return replace(one, together=Ranks(task, case, slots))


def as_function(task: CollectiveTask, rank: int) -> FunctionTask:
    """One rank's side of a collective; its oracle is that of all ranks, and is not asked here."""

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        task.fill(params, rank, slots, seeds)

    def oracle(params: Params, inputs: Slot) -> Slot:
        raise NotImplementedError(f"{len(inputs)} inputs of {len(params)} parameters, but of one rank alone")

    return FunctionTask(
        tensors=lambda params: task.tensors(params, rank),
        fill=fill,
        oracle=oracle,
        cost=task.cost,
        scalars=lambda params: task.scalars(params, rank),
        audit=task.audit,
    )
