"""What the demo says while it grades, and what it says of an empty board."""

import io
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from grader import languages
from grader.contract import Verdict
from server.demo import tables
from server.demo.entrants import Entry, entries, gradable
from server.demo.student import Student, Submitted

ASSIGNMENT = "kernels/double"


def submitted(identity: str, expected: Verdict = Verdict.ACCEPTED) -> Submitted:
    path = Path("reference/kernels/double/solution.py")
    entry = Entry(ASSIGNMENT, path, expected, None, {"solution.py": path}, "ada")
    return Submitted(httpx.Client(), entry, found(identity, "queued"))


def found(identity: str, state: str, verdict: str | None = None) -> dict[str, Any]:
    return {"id": identity, "state": state, "final": state == "done", "verdict": verdict, "fraction": None}


def test_beginning_and_end_of_each_grading_are_told_once() -> None:
    one, two = submitted("1"), submitted("2", Verdict.WRONG_ANSWER)
    told: dict[str, str] = {}
    assert list(tables.news([one, two], told)) == []
    one.learn(found("1", "running"))
    assert list(tables.news([one, two], told)) == ["grading  kernels/double  solution.py  ada"]
    assert list(tables.news([one, two], told)) == []
    one.learn(found("1", "done", "accepted"))
    two.learn(found("2", "done", "accepted"))
    lines = list(tables.news([one, two], told))
    assert lines[0].startswith(
        "1 of 2  kernels/double  solution.py  ada  [green]accepted[/], expected accepted  "
    )
    assert "[bold red]accepted[/], expected wrong_answer  " in lines[1]
    assert list(tables.news([one, two], told)) == []


@pytest.mark.parametrize(
    ("verdict", "why"), [("accepted", "not ranked"), ("unstable_timing", "too busy"), ("wrong_answer", "")]
)
def test_an_empty_board_says_why(verdict: str, why: str) -> None:
    one = submitted("1")
    one.found = found("1", "done", verdict)
    board = tables.board({"assignment": ASSIGNMENT, "entries": []}, "A machine", [one])
    assert isinstance(board, str)
    assert "kernels/double on A machine" in board
    assert "Nobody stands on this board." in board
    assert why in board
    assert ("busy" in board) == (verdict == "unstable_timing")


def test_the_end_says_how_many_unstable_timings_were_forgiven() -> None:
    right, noisy, wrong = submitted("1"), submitted("2"), submitted("3", Verdict.WRONG_ANSWER)
    right.learn(found("1", "done", "accepted"))
    wrong.learn(found("3", "done", "wrong_answer"))
    assert tables.summary([right, wrong]).startswith("All 2 verdicts are as expected, none with")
    noisy.found, noisy.as_expected = found("2", "done", "unstable_timing"), True
    assert tables.summary([right, noisy, wrong]).startswith(
        "All 3 verdicts are as expected, 1 of them forgiven"
    )
    noisy.as_expected = False
    assert tables.summary([right, noisy, wrong]).startswith("2 of 3 verdicts are as expected, none with")


def test_without_a_compiler_the_rows_in_cpp_say_so_and_do_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / ASSIGNMENT
    (folder / "wrong").mkdir(parents=True)
    for name, verdict in (
        ("solution.py", "accepted"),
        ("solution.cpp", "accepted"),
        ("wrong/a.cpp", "wrong_answer"),
    ):
        (folder / name).write_text(f"# // solmark: verdict={verdict}\n")
    everything = entries(tmp_path, [ASSIGNMENT])
    assert gradable(everything) == (everything, [])
    monkeypatch.setattr(languages, "PROGRAMS", str(tmp_path))
    chosen, left_out = gradable(everything)
    assert [entry.path.name for entry in chosen] == ["solution.py"]
    one = submitted("1")
    one.learn(found("1", "done", "accepted"))
    console = Console(width=160, file=io.StringIO(), record=True)
    console.print(tables.progress([one], left_out))
    shown = console.export_text()
    assert shown.count(ASSIGNMENT) == 1
    lines = [line for line in shown.splitlines() if ".cpp" in line]
    assert len(lines) == 2
    assert all("not graded: no g++" in line for line in lines)
    assert tables.summary([one], left_out) == (
        "All 1 verdicts are as expected, none with an unstable timing forgiven. "
        "2 in C++ are not graded: no g++."
    )


def test_a_narrow_terminal_shows_names_whole_and_says_what_is_other_than_expected() -> None:
    name = "wrong_in_a_way_with_a_long_name"
    path = Path(f"reference/{ASSIGNMENT}/wrong/{name}.py")
    right, other = submitted("1"), submitted("2")
    other.entry = Entry(ASSIGNMENT, path, Verdict.WRONG_ANSWER, None, {"solution.py": path}, "amaya")
    right.learn(found("1", "done", "accepted"))
    other.learn(found("2", "done", "accepted"))
    for width, students in ((80, False), (120, True)):
        console = Console(width=width, file=io.StringIO(), record=True)
        console.print(tables.progress([right, other], width=width))
        shown = console.export_text()
        assert f"wrong/{name}.py" in shown
        assert "wrong_answer" in shown
        assert "…" not in shown
        assert ("amaya" in shown) is students


def test_its_own_are_found_behind_what_others_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {None: (["b", "c"], 7), "7": (["a", "d"], 6), "6": (["e"], None)}
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("tokens"):
            return httpx.Response(201, json={"token": "t"})
        after = request.url.params.get("after")
        asked.append(after)
        names, following = pages[after]
        items = [found(name, "running") for name in names]
        return httpx.Response(200, json={"items": items, "next": following})

    client = httpx.Client
    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", lambda **options: client(**options, transport=transport))
    with Student("http://server", "assistant", "password") as staff:
        assert staff.everything({"a", "b"}).keys() == {"a", "b"}
        assert asked == [None, "7"]
        assert staff.everything({"gone"}) == {}
        assert asked[2:] == [None, "7", "6"]
