"""Which solutions the demo submits."""

from collections import Counter
from pathlib import Path

import pytest

from server.demo.entrants import FIRST, OTHERS, entries, most_wrong


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [("", {FIRST: 7, "track/slug": OTHERS}), ("3", {FIRST: 3, "track/slug": 3}),
     ("all", {FIRST: 7, "track/slug": 7}), ("99", {FIRST: 7, "track/slug": 7}),
     ("0", {FIRST: 0, "track/slug": 0})],
)  # fmt: skip
def test_all_wrong_solutions_of_one_assignment_and_a_few_of_the_others(
    tmp_path: Path, asked: str, wrong: dict[str, int]
) -> None:
    for name in wrong:
        (tmp_path / name / "wrong").mkdir(parents=True)
        (tmp_path / name / "solution.py").write_text("# solmark: verdict=accepted\n")
        for number in range(7):
            (tmp_path / name / "wrong" / f"{number}.py").write_text("# solmark: verdict=wrong_answer\n")
    found = entries(tmp_path, list(wrong), most_wrong(list(wrong), asked))
    assert Counter(entry.assignment for entry in found) == {name: 1 + count for name, count in wrong.items()}
    for name in wrong:
        assert next(entry for entry in found if entry.assignment == name).path.name == "solution.py"
        students = [entry.student for entry in found if entry.assignment == name]
        assert len(set(students)) == len(students)
