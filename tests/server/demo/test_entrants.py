"""Which solutions the demo submits."""

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.cli import app
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


@pytest.mark.parametrize("asked", ["many", "-1", "1.5"])
def test_what_is_no_number_is_said_before_anything_starts(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_WRONG", asked)
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path))
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert f"DEMO_WRONG={asked}" in result.output
