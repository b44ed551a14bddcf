"""One case of a collective in the judge's own memory: filled for every rank, audited on every rank."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from grader.contract import FirstWrong, Text
from grader.judge.arena import Arena, same_bits, snapshot
from grader.judge.audit import Comparison
from grader.judge.authored import Watch, compare, guard
from grader.judge.collective import authored
from grader.judge.collective.rank import Rank
from grader.judge.correctness import reason
from grader.judge.failure import AssignmentFault
from grader.judge.layout import SlotLayout, plan
from grader.messages import text
from grader.task import Case, CollectiveTask, Slot


class Wrong(Exception):  # noqa: N818
    """A rank's answer is wrong."""

    def __init__(self, rank: int, why: Text) -> None:
        super().__init__(why.en)
        self.rank = rank
        self.why = why


@dataclass
class Run:
    """One case on its way. `inputs` and `compared` are by slot and rank."""

    task: CollectiveTask
    case: Case
    watch: Watch
    slots: list[tuple[SlotLayout, ...]]
    images: list[Arena]
    inputs: list[list[Slot]]
    compared: list[Comparison]

    @property
    def ranks(self) -> int:
        """How many the case has."""
        return len(self.slots)

    def provide(self, rank: int, client: Rank, entry: str) -> None:
        """Hand a rank its inputs, and have its arguments made. Raises CandidateFailure."""
        mine = self.slots[rank]
        client.memory.bytes()[: mine[-1].end].copy_(self.images[rank].bytes()[: mine[-1].end])
        client.bind(
            mine,
            authored.scalars(self.task, self.case, rank, self.watch),
            entry=entry,
            signature=authored.signature(entry, self.task, self.case, self.watch),
        )


def prepare(task: CollectiveTask, case: Case, seed: int, watch: Watch) -> Run:
    """Lay out and fill every slot of every rank, in the judge's own copy. Raises AssignmentFault."""
    calls = authored.calls(task, case, watch)
    slots = [plan(tensors, calls) for tensors in authored.tensors(task, case, watch)]
    run = Run(task, case, watch, slots, [], [[] for _ in range(calls)], [])
    try:
        for rank, mine in enumerate(slots):
            image = Arena(mine[-1].end)
            run.images.append(image)
            image.prepare(mine)
            given = [
                {name: view for name, view in image.tensors(slot).items() if _role(slot, name) != "out"}
                for slot in mine
            ]
            seeds = [_seed(seed, slot.index) for slot in mine]
            guard("fill", case, partial(task.fill, case.params, rank, given, seeds), watch)
            for inputs, views in zip(run.inputs, given, strict=True):
                inputs.append(snapshot(views))
    except BaseException:
        close(run)
        raise
    return run


def _role(slot: SlotLayout, name: str) -> str:
    """Whether the tensor of that name is in, out or inout."""
    return next(place.tensor.role for place in slot.plan.placements if place.tensor.name == name)


def _seed(seed: int, slot: int) -> int:
    """A seed of 128 bits for each call, the same on every rank."""
    key = seed.to_bytes(16)
    return int.from_bytes(hashlib.blake2b(str(slot).encode(), key=key, digest_size=16).digest())


def close(run: Run) -> None:
    """Give the judge's copies back."""
    for image in run.images:
        image.close()


def audit(ranks: Sequence[Rank], run: Run) -> None:
    """Compare every rank's outputs of every call. Raises Wrong, AssignmentFault."""
    shared: list[list[Slot]] = []
    for rank, client in enumerate(ranks[: run.ranks]):
        mine = run.slots[rank]
        for _, name in client.memory.disturbed(mine):
            raise Wrong(rank, text("outside", output=name))
        shared.append([snapshot(client.memory.tensors(slot)) for slot in mine])
    for rank, slots in enumerate(run.slots):
        for slot, found in zip(slots, shared[rank], strict=True):
            before = run.images[rank].tensors(slot)
            for name, values in found.items():
                if _role(slot, name) == "in" and not same_bits(values, before[name].contiguous()):
                    raise Wrong(rank, text("input_modified", name=name))
    for number, inputs in enumerate(run.inputs):
        expected = oracle(run, inputs)
        for rank in range(run.ranks):
            _compare(run, rank, inputs, expected[rank], shared[rank][number])


def _compare(run: Run, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot) -> None:
    tensors = [placement.tensor for placement in run.slots[rank][0].plan.placements]
    for comparison in compare(tensors, found, expected, run.case):
        first = comparison.first_wrong
        if first is not None:
            name = f"{first.output} of rank {rank}"[:64]
            first = FirstWrong(output=name, index=first.index, expected=first.expected, found=first.found)
        run.compared.append(replace(comparison, first_wrong=first))
        if not comparison.passed:
            raise Wrong(rank, _explained(run, rank, inputs, expected, found, reason(comparison)))


def _explained(run: Run, rank: int, inputs: Sequence[Slot], expected: Slot, found: Slot, why: Text) -> Text:
    """The reason with the author's hint behind it. A hint that fails is left out: it decides nothing."""
    explain = run.task.explain
    if explain is None:
        return why
    with suppress(AssignmentFault):
        hint = guard(
            "explain", run.case, lambda: explain(run.case.params, rank, inputs, expected, found), run.watch
        )
        if hint is not None:
            return Text(code=why.code, en=f"{why.en} {hint[0]}"[:8192], zh=f"{why.zh}{hint[1]}"[:8192])
    return why


def oracle(run: Run, inputs: Sequence[Slot]) -> Sequence[Slot]:
    """Expected outputs by rank. Raises AssignmentFault."""
    case = run.case
    expected = guard("oracle", case, lambda: run.task.oracle(case.params, inputs), run.watch)
    if not isinstance(expected, Sequence) or len(expected) != run.ranks:
        wrong = f"task.py: oracle of case {case.id!r}: it must return a list with one dict a rank"
        raise AssignmentFault("oracle", wrong)
    return expected
