"""A milestone is a whole solution of ours, of this assignment and class, and the page says it."""

import json
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import load
from grader.check import milestones, pages
from grader.check.finding import Finding, State
from grader.scaffold.make import make

TOML = """primary = true

[[targets.milestones]]
name = "naive"
fraction = 0.211
credit = 0.1
measurement = "prices:new-one/naive"

[[targets.milestones]]
name = "best"
fraction = 1.0
credit = 1.0
measurement = "prices:new-one/solution"
"""


def row(solution: str, case: str, fraction: float) -> dict[str, Any]:
    name = f"new-one/{solution.removesuffix('.py')}"
    return {
        "id": name if case == "all" else f"{name}/{case}",
        "assignment": "demo/new-one",
        "solution": solution,
        "case": case,
        "fraction": fraction,
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make("demo/new-one", "dialogue", tmp_path, "1.1")
    folder = tmp_path / "assignments/demo/new-one"
    toml = folder / "assignment.toml"
    toml.write_text(toml.read_text("utf-8").replace("primary = true\n", TOML), "utf-8")
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    return folder


ROWS = [
    row(solution, case, fraction)
    for solution, fraction in (("naive.py", 0.211), ("solution.py", 1.0))
    for case in ("all", "many")
]


def found(root: Path, *changes: dict[str, Any], device: str = "any", name: str = "prices") -> list[Finding]:
    """What is said of milestones whose rows are these, each change made to the first row."""
    rows = [ROWS[0] | change for change in changes] + ROWS[len(changes) :]
    path = root.parents[2] / "benchmarks/results" / f"{name}.json"
    path.write_text(json.dumps({"device": device, "rows": rows}), "utf-8")
    return list(milestones.check(load(root)))


def test_solutions_that_were_measured_in_every_timed_case_hold(root: Path) -> None:
    (one,) = found(root)
    assert one.state is State.HOLDS
    assert (one.subject, one.text) == ("milestones on cpu", "2 solutions, each measured in every timed case")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"assignment": "demo/other"}, "naive: prices:new-one/naive is of demo/other"),
        ({"solution": "older.py"}, "is of older.py; the right solutions are naive.py, solution.py"),
        ({"solution": "wrong/raises.py"}, "is of wrong/raises.py; the right solutions are"),
        ({"case": "many"}, "is of the case many, not of all"),
    ],
)
def test_a_row_that_is_no_whole_solution_is_named(root: Path, change: dict[str, Any], wanted: str) -> None:
    (one,) = found(root, change)
    assert one.state is State.FAILS
    assert wanted in one.text


def test_a_mean_that_its_cases_do_not_make_is_named(root: Path) -> None:
    (one,) = found(root, {}, {"id": "new-one/naive/many", "case": "many", "fraction": 0.5})
    assert one.text == "naive: prices:new-one/naive says 0.211, but its cases make 0.5"


def test_a_case_that_was_not_timed_then_is_named(root: Path) -> None:
    toml = root / "assignment.toml"
    more = toml.read_text("utf-8").rpartition("[[cases]]")[2].replace('"many"', '"more"')
    toml.write_text(f"{toml.read_text('utf-8')}\n[[cases]]{more}", "utf-8")
    texts = [one.text for one in found(root)]
    assert texts == [
        "naive: prices:new-one/naive leaves out more, which is timed",
        "best: prices:new-one/solution leaves out more, which is timed",
    ]


def test_times_of_another_class_are_no_milestone(root: Path) -> None:
    texts = [one.text for one in found(root, device="NVIDIA H200")]
    assert "naive: prices:new-one/naive was not measured on cpu" in texts
    toml = root / "assignment.toml"
    toml.write_text(toml.read_text("utf-8").replace('"prices:', '"milestones.cpu:'), "utf-8")
    (one,) = found(root, device="AMD EPYC", name="milestones.cpu")
    assert one.state is State.HOLDS


def test_no_milestones_are_a_warning(root: Path) -> None:
    toml = root / "assignment.toml"
    toml.write_text(toml.read_text("utf-8").replace(TOML, "primary = true\n"), "utf-8")
    (one,) = found(root)
    assert (one.state, one.text) == (State.WARNING, "none: they come from measurements")


def test_the_page_names_each_milestone(root: Path) -> None:
    found(root)

    def missing() -> list[str]:
        return [one.text for one in pages.check(load(root)) if "milestone" in one.text]

    page = root / "README.md"
    text = page.read_text("utf-8")
    assert missing() == [
        "README.md lacks the milestone naive on cpu, 21.1 %",
        "README.md lacks the milestone best on cpu, 100 %",
    ]
    page.write_text(f"{text}\nRound robin reaches 121.1 %, the best 100 %.\n", "utf-8")
    assert missing() == []  # The numbers of the two pages differ, which is said alone.
    chinese = root / "README.zh.md"
    chinese.write_text(f"{chinese.read_text('utf-8')}\n轮转达到 121.1 %，最好 100 %。\n", "utf-8")
    assert missing() == ["README.md lacks the milestone naive on cpu, 21.1 %"]
    for one in (page, chinese):
        one.write_text(one.read_text("utf-8").replace("121.1", "21.1"), "utf-8")
    assert missing() == []
