"""The course's map: weeks, tracks and topics, and the assignments that cover each topic.

Reading never runs code and needs no database: the server joins a reader's progress to it by assignment id.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from grader import assignment as assignments
from grader import repair
from grader.faults import AssignmentError, Fault, from_validation, near
from grader.spec import Model, Title

FILE = "course.toml"
_MAX_BYTES = 1 << 20

AssignmentId = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*$")]
TopicNumber = Annotated[str, Field(pattern=r"^[0-9]\.[0-9]{1,2}$")]


class Track(Model):
    """A part of the course that several weeks belong to; its id is the folder of its assignments."""

    id: str = Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", description="lower-case words joined by hyphens")
    title: Title = Field(description="a table with en and zh")


class Topic(Model):
    """One line of the syllabus."""

    number: TopicNumber = Field(description='a number of the syllabus as a string, for instance "1.4"')
    track: str = Field(description="the id of one of [[tracks]]")
    title: Title = Field(description="a table with en and zh")
    assignments: tuple[AssignmentId, ...] = Field(
        min_length=1, description='ids of assignments, built or not, for instance ["kernels/add-rmsnorm"]'
    )


class GuestLecture(Model):
    """A lecture by a guest; no assignment belongs to it."""

    title: Title = Field(description="a table with en and zh")
    speaker: str = Field(default="", max_length=200, description="who speaks")


class Week(Model):
    """The topics of one week, in order."""

    number: int = Field(ge=1, le=52, description="a week from 1 to 52")
    title: Title = Field(description="a table with en and zh")
    topics: tuple[Topic, ...] = Field(min_length=1, description="at least one [[weeks.topics]]")
    guest_lectures: tuple[GuestLecture, ...] = ()


class Course(Model):
    """The content of `course.toml`."""

    title: Title = Field(description="a table with en and zh")
    tracks: tuple[Track, ...] = Field(min_length=1, description="at least one [[tracks]]")
    weeks: tuple[Week, ...] = Field(min_length=1, description="at least one [[weeks]]")

    def topics(self) -> Iterator[Topic]:
        """All topics in the order of the course."""
        return (topic for week in self.weeks for topic in week.topics)

    def assignments(self) -> tuple[str, ...]:
        """Ids of all assignments that the map names, each once, in the order of the course."""
        return tuple(dict.fromkeys(name for topic in self.topics() for name in topic.assignments))


@dataclass(frozen=True)
class Cell:
    """One assignment of a topic. `progress` is what the caller's function says of it, None if not built."""

    assignment: str
    built: bool
    progress: object | None


@dataclass(frozen=True)
class Row:
    """One topic and its assignments; `built` if at least one of them exists."""

    week: Week
    topic: Topic
    cells: tuple[Cell, ...]

    @property
    def built(self) -> bool:
        """At least one assignment exists."""
        return any(cell.built for cell in self.cells)


def find() -> Path | None:
    """The first map in the search path of assignments (`grader.assignment.roots`), None if there is none."""
    files = (root / FILE for root in assignments.roots())
    return next((file.resolve() for file in files if file.is_file()), None)


def load(path: Path) -> Course:
    """Read a map, `course.toml` or the folder that it lies in.

    Raises AssignmentError with every fault: the key, what is wrong, what would be right.
    """
    file = path / FILE if path.is_dir() else path
    try:
        content = file.read_bytes()
        if len(content) > _MAX_BYTES:
            raise AssignmentError(str(file), [Fault(FILE, "", f"{len(content)} bytes; at most {_MAX_BYTES}")])
        document = tomllib.loads(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise AssignmentError(str(file), [Fault(FILE, "", f"cannot be read: {error}")]) from error
    try:
        course = repair.validate(Course, document)
    except ValidationError as error:
        raise AssignmentError(str(file), from_validation(error, Course, FILE, document)) from error
    if faults := list(_faults(course)):
        raise AssignmentError(str(file), faults)
    return course


def rows(
    course: Course,
    built: Collection[str],
    progress: Callable[[str], object | None] = lambda _assignment: None,
) -> list[Row]:
    """The map as rows. `built` are the ids of assignments that exist; of each, `progress` is asked."""
    return [
        Row(
            week,
            topic,
            tuple(
                Cell(name, name in built, progress(name) if name in built else None)
                for name in topic.assignments
            ),
        )
        for week in course.weeks
        for topic in week.topics
    ]


def strangers(course: Course, topics_of: dict[str, tuple[str, ...]]) -> list[Fault]:
    """Assignments (id to the topics that they name) which the map lacks, or has under other topics."""
    faults = []
    mapped: dict[str, set[str]] = {}
    for topic in course.topics():
        for name in topic.assignments:
            mapped.setdefault(name, set()).add(topic.number)
    for name, topics in topics_of.items():
        if name not in mapped:
            faults.append(Fault(FILE, name, "is not in the map", near(name, mapped)))
        elif mapped[name] != set(topics):
            own, here = ", ".join(sorted(topics)), ", ".join(sorted(mapped[name]))
            faults.append(Fault(FILE, name, f"stands under {here}", f"its assignment.toml says {own}"))
    return faults


def _faults(course: Course) -> Iterator[Fault]:
    tracks = [track.id for track in course.tracks]
    groups = (
        ("tracks", "id", tracks),
        ("weeks", "number", [str(week.number) for week in course.weeks]),
        ("topics", "number", [topic.number for topic in course.topics()]),
    )
    for section, field, names in groups:
        for name, count in Counter(names).items():
            if count > 1:
                yield Fault(
                    FILE, f'{section}["{name}"].{field}', f"occurs {count} times", "each must be unique"
                )
    for topic in course.topics():
        key = f'topics["{topic.number}"]'
        if topic.track not in tracks:
            yield Fault(FILE, f"{key}.track", f"there is no track {topic.track!r}", near(topic.track, tracks))
        for name in topic.assignments:
            track = name.partition("/")[0]
            if track not in tracks:
                wrong = f"{name!r} lies in no track"
                yield Fault(FILE, f"{key}.assignments", wrong, near(track, tracks))
