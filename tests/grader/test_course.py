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
COVERAGE = """
1.1 simt-mandelbrot; 1.2 simt-puzzles; 1.3 tile-elementwise; 1.4 add-rmsnorm; 1.5 sgemm-tiled;
1.6 transpose-swizzle; 1.7 tc-gemm-shapes; 1.8 fragment-layout; 1.9 layout-algebra;
1.10 multibuffer-dequant; 1.11 tma-copy; 1.12 warp-specialize; 1.13 tile-dsl; 1.14 tile-dsl graph-fusion;
1.15 auto-pipeline; 1.16 graph-fusion; 1.17 gpu-detective; 1.18 npu-tile; 1.19 sol-gemm; 1.20 sol-attn;
2.0 link-model; 2.1 link-model fabric-route; 2.2 fabric-route; 2.3 hier-collective; 2.4 innet-reduce;
2.5 allreduce-ccl; 2.6 p2p-channel; 2.7 ep-dispatch eplb-placement; 2.8 overlap; 2.9 tiered-io;
3.1 serve-metrics; 3.2 pd-disagg; 3.3 kv-radix; 3.4 batch-scheduler; 3.5 paged-decode fused-moe;
3.6 spec-verify; 3.7 parallel-planner; 3.8 mini-engine; 4.1 grpo-core; 4.2 hybrid-sync;
4.3 longtail-scheduler; 4.4 async-rl; 4.5 spec-rollout; 4.6 consistency; 4.7 agent-env
"""
"""The curriculum's: for each topic the assignments that are meant to cover it."""
TRACKS = {"1": "kernels", "2": "communication", "3": "inference", "4": "rl"}


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


def test_each_topic_has_the_assignments_of_the_curriculum() -> None:
    wanted = {}
    for entry in COVERAGE.split(";"):
        number, *names = entry.split()
        wanted[number] = (TRACKS[number[0]], [f"{TRACKS[number[0]]}/{name}" for name in names])
    topics = course.load(MAP).topics()
    assert {topic.number: (topic.track, list(topic.assignments)) for topic in topics} == wanted


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
