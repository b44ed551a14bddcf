"""The rings of all ranks of a timed case as one: filled from the same seeds, audited on the same slots.

Values are independent between ranks as between slots: a task's fill names the rank in what it draws.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from grader.judge import cores
from grader.judge.audit import Comparison
from grader.judge.authored import guard
from grader.judge.collective.switchboard import named_wrong
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.pool import CorePool
from grader.judge.ring import Ring, fresh_seeds, join
from grader.task import Case, CollectiveTask


class Rings:
    """One `Ring` a rank over its own arena; all have as many slots."""

    def __init__(self, rings: Sequence[Ring], pool: CorePool, task: CollectiveTask, case: Case) -> None:
        self.pool = pool
        self._rings = tuple(rings)
        self._task = task
        self._case = case

    def fill(self, count: int) -> None:
        """Give the first `count` slots of every rank fresh inputs. Raises AssignmentFault."""
        seeds = fresh_seeds(count)
        for ring in self._rings:
            ring.fill(count, seeds)

    def publish(self, count: int) -> None:
        """Copy the first `count` slots to every rank's arena."""
        for ring in self._rings:
            ring.publish(count)

    def check_intact(self, count: int) -> None:
        """Raise CandidateFailure for a rank in whose arena a canary or an input has changed."""
        for rank, ring in enumerate(self._rings):
            try:
                ring.check_intact(count)
            except CandidateFailure as failure:
                sentence = named_wrong(rank, len(self._rings), failure.text)
                raise CandidateFailure(failure.verdict, sentence, detail=failure.detail) from None

    def unwritten(self, count: int) -> list[int]:
        """Slots in which some output of some rank looks untouched."""
        return sorted({index for ring in self._rings for index in ring.unwritten(count)})

    def audit(self, indices: Sequence[int]) -> list[Comparison]:
        """Recompute these calls and compare every rank: one Comparison an output, joined over all.

        Stops soon after a call that fails. Raises AssignmentFault if the oracle fails.
        """

        def audit(part: range) -> list[Comparison]:
            joined: list[Comparison] = []
            for place in part:
                results = self._audit_call(indices[place])
                joined = join(joined, results)
                if not all(result.passed for result in results):
                    break
            return joined

        return reduce(join, self.pool.over(len(indices), audit))

    def close(self) -> None:
        """Give the images back, and end the pool."""
        for ring in self._rings:
            ring.close()
        self.pool.close()

    def _audit_call(self, index: int) -> list[Comparison]:
        given = [ring.given(index) for ring in self._rings]
        case = self._case
        expected = guard("oracle", case, lambda: self._task.oracle(case.params, given))
        if not isinstance(expected, Sequence) or len(expected) != len(self._rings):
            wrong = f"task.py: oracle of case {case.id!r}: it must return a list with one dict a rank"
            raise AssignmentFault("oracle", wrong)
        by_rank = [
            [_of_rank(found, rank) for found in ring.compare(index, expected[rank])]
            for rank, ring in enumerate(self._rings)
        ]
        return reduce(join, by_rank)


def _of_rank(found: Comparison, rank: int) -> Comparison:
    first = found.first_wrong
    if first is None:
        return found
    return replace(
        found, first_wrong=first.model_copy(update={"output": f"{first.output} of rank {rank}"[:64]})
    )


def pool() -> CorePool:
    """Threads that the rings of all ranks share."""
    return CorePool(cores.choose())
