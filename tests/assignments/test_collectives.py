"""C05 and C07: how near the reference comes to the bound, by number of ranks, in every priced case."""

from pathlib import Path

import pytest

from grader import assignment as assignments
from grader.check import solutions
from grader.check.gradings import Grader
from grader.contract import Mode, Verdict
from grader.sandbox import registry

CHECKOUT = Path(__file__).parents[2]
NAMES = ["communication/allreduce-ccl", "communication/ep-dispatch"]
POWERS, ELSEWHERE = 0.95, 0.80


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_comes_near_its_bound_for_every_number_of_ranks(name: str) -> None:
    loaded = assignments.load(assignments.available()[name])
    best = solutions.read(CHECKOUT / "reference" / name)[0][0]
    report = Grader(loaded, registry.choose("bubblewrap"), None).grade(best.files, Mode.GRADE)
    assert report.verdict is Verdict.ACCEPTED, report.message.en
    reached = {(one.params["ranks"], one.case): one.fraction or 0.0 for one in report.timed}
    assert {ranks for ranks, _ in reached} == {2, 3, 4, 7, 8}
    for (ranks, case), fraction in reached.items():
        least = POWERS if ranks & (ranks - 1) == 0 else ELSEWHERE
        assert fraction >= least, f"{case}: {fraction:.3f}"
