"""The slots of one timed case: filled in the judge's private image, copied to the arena, audited afterwards.

The image holds the arena's bytes as the candidate gets them: inputs, poison in the outputs, canaries in the
gaps. Whatever is no output must still equal it after the round, and the oracle computes from it alone.
"""

import secrets
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from grader.contract import Verdict
from grader.fills import SEED_BITS
from grader.judge import authored, cores, freivalds, poison
from grader.judge.arena import Arena, same_bits
from grader.judge.audit import EXACT, Comparison
from grader.judge.failure import CandidateFailure
from grader.judge.layout import SlotLayout
from grader.judge.pool import CorePool
from grader.messages import text
from grader.task import Case, FunctionTask, Slot

if TYPE_CHECKING:
    import torch

GLANCE = 64
"""Elements of each output of each slot that are looked at where the slot itself is not audited."""


class Ring:
    """Consecutive slots from the start of `arena`, each used once a round; values are never used twice."""

    def __init__(
        self,
        arena: Arena,
        slots: Sequence[SlotLayout],
        task: FunctionTask,
        case: Case,
        pool: CorePool | None = None,
    ) -> None:
        self.slots = tuple(slots)
        self.pool = pool or CorePool(cores.choose())
        self._arena = arena
        self._task = task
        self._case = case
        self._tensors = [placement.tensor for placement in slots[0].plan.placements]
        # A second Arena is memory of the right layout; its descriptor is never handed to anybody.
        self._image = Arena(slots[-1].end)
        self._image.prepare(self.slots)
        self._mine = [self._image.tensors(slot) for slot in self.slots]
        self._found = [self._arena.tensors(slot) for slot in self.slots]

    def fill(self, count: int, seeds: Sequence[int] = ()) -> None:
        """Give the first `count` slots fresh inputs, each slot from a 128-bit seed of the system's generator.

        Ranks that are called together have the same `seeds`. Raises AssignmentFault if the task's fill fails.
        """
        written = [tensor.name for tensor in self._tensors if tensor.role != "out"]
        slots: list[Slot] = [{name: views[name] for name in written} for views in self._mine[:count]]
        chosen = seeds or fresh_seeds(count)

        def fill(part: range) -> None:
            mine, keys = slots[part.start : part.stop], chosen[part.start : part.stop]
            authored.guard("fill", self._case, lambda: self._task.fill(self._case.params, mine, keys))

        self.pool.over(count, fill)

    def publish(self, count: int) -> None:
        """Copy the first `count` slots to the arena: inputs, poison and canaries at once."""

        def publish(part: range) -> None:
            # To where the next part begins: the guards between two slots belong to the first.
            begin = self.slots[part.start].start
            end = self.slots[part.stop].start if part.stop < count else self.slots[count - 1].end
            self._arena.bytes()[begin:end].copy_(self._image.bytes()[begin:end])

        self.pool.over(count, publish)

    def provide(self, count: int) -> None:
        """Fill the first `count` slots and hand them to the candidate at once. Raises AssignmentFault."""
        self.fill(count)
        self.publish(count)

    def check_intact(self, count: int) -> None:
        """Raise CandidateFailure if a canary or an input of the first `count` slots has changed."""
        self.pool.over(count, self._check_intact)

    def _check_intact(self, part: range) -> None:
        slots = self.slots[part.start : part.stop]
        for slot, name in self._arena.disturbed(slots):
            raise CandidateFailure(
                Verdict.WRONG_ANSWER, text("outside", output=name), detail=f"slot {slot.index}"
            )
        for placement in slots[0].plan.placements:
            if placement.tensor.role != "in" or placement.tensor.elements == 0:
                continue
            found = self._arena.stacked(slots, placement)
            if not same_bits(found, self._image.stacked(slots, placement)):
                raise CandidateFailure(
                    Verdict.WRONG_ANSWER, text("input_modified", name=placement.tensor.name)
                )

    def audit(self, indices: Sequence[int]) -> list[Comparison]:
        """Recompute these slots and compare: one Comparison an output, joined over the slots.

        Products are put to Freivalds's test; the oracle is asked for a few, and for those that do not pass.
        Stops soon after a slot that fails. Raises AssignmentFault if the oracle fails.
        """

        def audit(part: range) -> list[Comparison]:
            joined: list[Comparison] = []
            for place in part:
                results = self._audit_slot(indices[place], asked=place == part.start)
                joined = join(joined, results)
                if not all(result.passed for result in results):
                    break
            return joined

        return reduce(join, self.pool.over(len(indices), audit))

    def unwritten(self, count: int) -> list[int]:
        """Slots of the first `count` in which some output looks untouched (to be audited in full)."""
        import numpy as np
        import torch

        # Not torch's generator: unless somebody seeds it, every process draws the same places from it.
        random = np.random.default_rng()
        suspects: set[int] = set()
        for placement in self.slots[0].plan.placements:
            tensor = placement.tensor
            if tensor.role != "out" or tensor.elements == 0 or tensor.count is not None:
                continue
            places = torch.from_numpy(random.integers(tensor.elements, size=GLANCE))
            for index in range(count):
                seen = _elements(self._found[index][tensor.name], places)
                if bool(poison.mask(seen, tensor.dtype).any()):
                    suspects.add(index)
        return sorted(suspects)

    def given(self, index: int) -> Slot:
        """The judge's own inputs of a slot."""
        mine = self._mine[index]
        return {tensor.name: mine[tensor.name] for tensor in self._tensors if tensor.role != "out"}

    def compare(self, index: int, expected: object) -> list[Comparison]:
        """What the candidate wrote into a slot, and what the oracle says. Raises AssignmentFault."""
        return authored.compare(self._tensors, self._found[index], expected, self._case)

    def _audit_slot(self, index: int, *, asked: bool) -> list[Comparison]:
        given = self.given(index)
        product = self._task.product
        if product is not None and not asked:
            limits = self._case.tolerance.get(product.out, self._case.tolerance.get("*", EXACT))
            passed = freivalds.holds(product, given, self._found[index], limits)
            if passed is not None:
                return [passed]
        expected = authored.guard("oracle", self._case, lambda: self._task.oracle(self._case.params, given))
        return self.compare(index, expected)

    def close(self) -> None:
        """Give the image back, and end the pool."""
        self.pool.close()
        self._mine.clear()
        self._found.clear()
        self._image.close()


def fresh_seeds(count: int) -> list[int]:
    """Seeds of the system's generator."""
    return [secrets.randbits(SEED_BITS) for _ in range(count)]


def join(earlier: list[Comparison], later: list[Comparison]) -> list[Comparison]:
    """The same outputs over more calls."""
    return [a.join(b) for a, b in zip(earlier, later, strict=True)] if earlier else later


def _elements(values: "torch.Tensor", flat: "torch.Tensor") -> "torch.Tensor":
    """Elements of a tensor of any strides by row-major index, without copying the rest."""
    import torch

    if values.dim() == 0:
        return values.reshape(1)
    return values[torch.unravel_index(flat, values.shape)]
