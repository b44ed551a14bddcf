"""The course's map: complete, consistent with the assignments, refused with every fault where it is not."""

import re
from pathlib import Path

import pytest

from grader import assignment as assignments
from grader import course
from grader.faults import AssignmentError

CHECKOUT = Path(__file__).parents[2]
MAP = CHECKOUT / "assignments" / course.FILE
NUMBERS = [
    *(f"1.{number}" for number in range(1, 21)),
    *(f"2.{number}" for number in range(10)),
    *(f"3.{number}" for number in range(1, 9)),
    *(f"4.{number}" for number in range(1, 8)),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / course.FILE
    path.write_text(MAP.read_text("utf-8"), "utf-8")
    return path


def change(file: Path, old: str, new: str) -> list[str]:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(AssignmentError) as raised:
        course.load(file)
    return [str(fault) for fault in raised.value.faults]


def test_the_map_has_every_topic_of_the_syllabus_once() -> None:
    loaded = course.load(MAP.parent)
    assert [topic.number for topic in loaded.topics()] == NUMBERS
    assert [week.number for week in loaded.weeks] == list(range(1, 8))
    assert {topic.track for topic in loaded.topics()} == {track.id for track in loaded.tracks}
    assert len(loaded.assignments()) == 45
    for topic in loaded.topics():
        assert not re.search("[\u4e00-\u9fff]", topic.title.en)


def test_a_guest_lecture_closes_each_track() -> None:
    loaded = course.load(MAP)
    last = {topic.track: week for week in loaded.weeks for topic in week.topics}
    assert [week.number for week in loaded.weeks if week.guest_lectures] == [
        week.number for week in last.values()
    ]


def test_every_assignment_of_the_checkout_stands_where_it_says() -> None:
    loaded = {
        name: assignments.load(path).spec.topics
        for name, path in assignments.available().items()
        if path.is_relative_to(MAP.parent)
    }
    assert loaded
    assert course.strangers(course.load(MAP), loaded) == []


def test_rows_say_what_is_built_and_how_far_a_reader_is() -> None:
    loaded = course.load(MAP)
    progress = {"kernels/add-rmsnorm": 0.5, "kernels/tile-dsl": 1.0}
    by_number = {
        row.topic.number: row
        for row in course.rows(loaded, ["kernels/add-rmsnorm", "kernels/graph-fusion"], progress.get)
    }
    assert list(by_number) == NUMBERS
    (cell,) = by_number["1.4"].cells
    assert (cell.assignment, cell.built, cell.progress) == ("kernels/add-rmsnorm", True, 0.5)
    both = by_number["1.14"]
    assert [(cell.built, cell.progress) for cell in both.cells] == [(False, None), (True, None)]
    assert both.built
    assert not by_number["1.1"].built


def test_strangers_are_named() -> None:
    loaded = course.load(MAP)
    faults = course.strangers(loaded, {"kernels/add-rmsnorn": ("1.4",), "kernels/sol-gemm": ("1.18",)})
    assert "did you mean 'kernels/add-rmsnorm'?" in str(faults[0])
    assert "stands under 1.19; its assignment.toml says 1.18" in str(faults[1])


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('number = "1.2"', 'number = "1.1"', 'topics["1.1"].number: occurs 2 times'),
        ('track = "rl"', 'track = "rn"', "there is no track 'rn'; known: communication"),
        ('"rl/agent-env"', '"lr/agent-env"', "'lr/agent-env' lies in no track; known: communication"),
        ('"rl/agent-env"', '"Agent"', "assignments"),
        ("[[weeks]]\nnumber = 2", "[[weeks]]\nnumber = 1", 'weeks["1"].number: occurs 2 times'),
        ('title = { en = "TMA", ', 'title = { en = "TMA", de = "TMA", ', "de"),
        ("[title]", "[title", "cannot be read"),
    ],
)
def test_a_faulty_map_is_refused_with_the_place(file: Path, old: str, new: str, wanted: str) -> None:
    assert any(wanted in fault for fault in change(file, old, new))


def test_guest_lectures_may_stand_in_a_week(file: Path) -> None:
    text = file.read_text("utf-8")
    guest = '\n[[weeks.guest_lectures]]\ntitle = { en = "A guest", zh = "嘉宾" }\nspeaker = "N. N."\n'
    file.write_text(text + guest, "utf-8")
    *_, lecture = course.load(file).weeks[-1].guest_lectures
    assert (lecture.title.zh, lecture.speaker) == ("嘉宾", "N. N.")
    file.unlink()
    with pytest.raises(AssignmentError, match="cannot be read"):
        course.load(file)
