"""Handing in: rules, numbers, quotas, who sees what."""

import errno
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from grader.contract import Language, Mode, Verdict
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.models import Assignment, Blob, Submission
from server.db.session import Database, Job
from server.errors import (
    Closed,
    DomainError,
    FilesRefused,
    FilesTooLarge,
    Forbidden,
    Invalid,
    NoAttemptsLeft,
    NoDeviceTimeLeft,
    NotFound,
    NotOpen,
    TooManyQueued,
    WrongState,
)
from server.settings import Settings
from server.submissions import service

NAME = "kernels/double"
Submit = Callable[..., str]
_SOURCE = b"def solve(x, y):\n    pass\n"


def _set(database: Database, world: Any, **changes: Any) -> None:
    with database.begin() as session:
        course = courses.get_course(session, "demo")
        view = courses.get_assignment(session, course, NAME, staff=True)
        courses.set_dates(session, view.assignment, by=world.admin, **changes)


def test_a_submission_is_a_row_with_blobs_and_a_wish_to_be_dispatched(
    database: Database, blobs: BlobStore, world: Any, submit: Submit, jobs: list[Job]
) -> None:
    files = {"solution.py": _SOURCE, "notes.md": "笔记".encode()}
    public_id = submit(files=files)
    assert jobs[-1] == Job("dispatch")
    with database.read() as session:
        found = service.get(session, public_id, world.ann)
        assert (found.number, found.state, found.language) == (1, "queued", "python")
        assert (found.entry, found.hardware, found.version.digest) == ("solution.py", "cpu", world.digest)
        assert {row.name: blobs.read(row.sha256) for row in found.files} == files
        assert service.file(blobs, found, "notes.md") == files["notes.md"]
        known = set(session.scalars(select(Blob.sha256)))
        assert {row.sha256 for row in found.files} <= known
        with pytest.raises(NotFound):
            service.file(blobs, found, "../solution.py")


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({}, FilesRefused),
        ({"solution.py": b"#" * ((1 << 20) + 1)}, FilesTooLarge),
        ({f"part{n}.py": b"x = 1\n" for n in range(65)}, FilesRefused),
        ({"../solution.py": _SOURCE}, FilesRefused),
        ({"/etc/solution.py": _SOURCE}, FilesRefused),
        ({"a\\solution.py": _SOURCE}, FilesRefused),
        ({".solution.py": _SOURCE}, FilesRefused),
        ({"sol ution.py": _SOURCE}, FilesRefused),
        ({"solution.py\n": _SOURCE}, FilesRefused),
        ({"": _SOURCE}, FilesRefused),
        ({"x" * 126 + ".py": _SOURCE}, FilesRefused),
        ({"solution.exe": _SOURCE}, FilesRefused),
        ({"solution.py": b"\xff\xfe\x00s"}, FilesRefused),
        ({"solution.py": b"x = '\x00'\n"}, FilesRefused),
        ({"solution.py": b""}, FilesRefused),
        ({"one.py": _SOURCE, "two.py": _SOURCE}, FilesRefused),
        ({"solution.py": _SOURCE, "solution.cpp": b"int x;\n"}, FilesRefused),
        ({"solution.cu": b"int x;\n"}, Invalid),
    ],
    ids=lambda value: str(value)[:32],
)
def test_files_that_are_refused(submit: Submit, files: Mapping[str, bytes], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        submit(files=files)
    assert isinstance(caught.value, DomainError)
    assert caught.value.message
    assert caught.value.message_zh


def test_language_and_target_follow_what_the_assignment_takes(
    database: Database, world: Any, submit: Submit
) -> None:
    cpp = submit(files={"solution.cpp": b"int x;\n"})
    python = submit(hardware="h200", language=Language.PYTHON)
    with database.read() as session:
        assert service.get(session, cpp, world.ann).hardware == "cpu"
        assert service.get(session, python, world.ann).hardware == "h200"
    for wish in ({"hardware": "tpu"}, {"files": {"solution.cpp": b"int x;\n"}, "hardware": "h200"}):
        with pytest.raises(Invalid):
            submit(**wish)
    with pytest.raises(Invalid) as refused:
        submit(mode=Mode.PROFILE)
    assert "not offered yet" in refused.value.details["why"]


def test_dates_and_publication_bind_students_only(
    database: Database, world: Any, grader: Any, submit: Submit
) -> None:
    _set(database, world, opens=grader.now + timedelta(hours=1))
    with pytest.raises(NotOpen):
        submit()
    submit("ta")
    _set(database, world, opens=None, closes=grader.now)
    with pytest.raises(Closed):
        submit()
    submit("ta")
    with database.begin() as session:
        view = courses.get_assignment(session, courses.get_course(session, "demo"), NAME, staff=True)
        courses.unpublish(session, view.assignment, by=world.admin)
    with pytest.raises(NotFound):
        submit()
    with pytest.raises(NotOpen):
        submit("ta")


def test_simultaneous_uploads_get_consecutive_numbers_and_no_more_than_the_quota(
    database: Database, world: Any, submit: Submit
) -> None:
    _set(database, world, attempt_limit=12)

    def one(_: int) -> str | None:
        try:
            return submit()
        except NoAttemptsLeft:
            return None

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(32)))
    created = [answer for answer in answers if answer]
    assert len(created) == 12
    with database.read() as session:
        numbers = session.scalars(select(Submission.number).where(Submission.public_id.in_(created))).all()
    assert sorted(numbers) == list(range(1, 13))


def test_attempts_count_what_is_under_way_and_what_was_the_students(
    database: Database, world: Any, grader: Any, submit: Submit
) -> None:
    _set(database, world, attempt_limit=2)
    submit()
    grader.grade(verdict=Verdict.WRONG_ANSWER)
    submit()
    with pytest.raises(NoAttemptsLeft) as caught:
        submit()
    assert caught.value.details == {"used": 2, "limit": 2}
    submit(mode=Mode.TEST)  # Tests are free.
    submit("bob")  # Others have their own.


def test_a_full_disk_is_said_and_leaves_nothing(
    client: httpx.Client, database: Database, settings: Settings, token: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    address = f"/api/v1/courses/demo/assignments/{NAME}/submissions"
    document = {"files": {"solution.py": "# a content of its own\ndef solve(x, y): ...\n"}, "mode": "grade"}
    before = sorted(settings.blob_folder.rglob("*/*"))
    with monkeypatch.context() as patch:
        patch.setattr("server.blobs.os.fsync", full)
        answer = client.post(address, json=document, headers=token("ann"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert sorted(settings.blob_folder.rglob("*/*")) == before
    with database.read() as session:
        assert session.scalars(select(Submission)).all() == []
    answer = client.post(address, json=document, headers=token("ann"))
    assert (answer.status_code, answer.json()["number"]) == (201, 1)


def test_infrastructure_and_cancellation_cost_nothing(
    database: Database, settings: Settings, world: Any, grader: Any, submit: Submit
) -> None:
    _set(database, world, attempt_limit=1)
    first = submit()
    for _ in range(3):
        grader.grade(verdict=Verdict.GRADER_ERROR)
    second = submit()
    with database.begin() as session:
        assert service.get(session, first, world.ann).state == "grader_error"
        service.cancel(session, service.get(session, second, world.ann), by=world.ann, now=grader.now)
    submit()
    grader.grade()
    with database.read() as session:
        course = courses.get_course(session, "demo")
        view = courses.get_assignment(session, course, NAME, staff=False)
        team = courses.team_of(session, course, world.ann)
        assert team is not None
        quota = service.quota(
            session, settings, assignment=view.assignment, course=course, team=team, user=world.ann,
            now=grader.now,
        )  # fmt: skip
    assert (quota.attempts_used, quota.attempt_limit) == (1, 1)
    assert quota.seconds_used == 10.0  # 4 s are charged; what is shown is rounded up


def test_device_time_is_a_budget_of_the_courses_day(
    database: Database, world: Any, grader: Any, submit: Submit
) -> None:
    _set(database, world, device_seconds_per_day=90.0)
    submit(now=grader.now)
    grader.grade(seconds=41.0)
    submit(now=grader.now)  # 41 and as much again; the 50 that are shown would refuse it
    grader.grade(seconds=41.0)
    with pytest.raises(NoDeviceTimeLeft) as caught:
        submit(now=grader.now)
    # 12:00 UTC is 20:00 in Shanghai: the day ends at 16:00 UTC.
    assert caught.value.details["resets"] == "2026-12-01T00:00:00+08:00"
    submit(now=grader.now + timedelta(hours=4))


@pytest.mark.parametrize(("limit", "fit"), [(120.0, 2), (119.5, 1)])
def test_device_time_is_reserved_while_under_way_to_the_last_second(
    database: Database, world: Any, submit: Submit, limit: float, fit: int
) -> None:
    _set(database, world, device_seconds_per_day=limit)
    for _ in range(fit):  # 60 s each are expected.
        submit()
    with pytest.raises(NoDeviceTimeLeft):
        submit()


def test_what_is_run_again_is_paid_on_the_day_on_which_that_was_asked_for(
    database: Database, world: Any, grader: Any, settings: Settings, submit: Submit
) -> None:
    _set(database, world, device_seconds_per_day=90.0)
    stock, tomorrow = [], grader.now + timedelta(days=1)
    for _ in range(2):
        stock.append(submit(now=grader.now))
        with database.begin() as session:
            found = service.get(session, stock[-1], world.ann)
            service.cancel(session, found, by=world.ann, now=grader.now)
    with database.begin() as session:
        service.rerun(
            session, settings, service.get(session, stock[0], world.ann), by=world.ann, now=tomorrow
        )
    grader.now = tomorrow
    for graded in (False, True):  # While it waits it is reserved, once it was graded it is charged.
        if graded:
            grader.grade(seconds=80.0)
        with database.begin() as session, pytest.raises(NoDeviceTimeLeft):
            service.rerun(
                session, settings, service.get(session, stock[1], world.ann), by=world.ann, now=tomorrow
            )
        with pytest.raises(NoDeviceTimeLeft):
            submit(now=tomorrow)


def test_device_time_is_one_budget_for_all_assignments_of_the_course(
    database: Database, world: Any, grader: Any, submit: Submit
) -> None:
    _set(database, world, device_seconds_per_day=90.5)
    first = submit(now=grader.now)
    grader.grade(seconds=88.0)
    with database.begin() as session:  # As if it had been handed in to another assignment of the course.
        found = service.get(session, first, world.ann)
        other = Assignment(course_id=found.course_id, track="kernels", slug="other")
        session.add(other)
        session.flush()
        found.assignment_id = other.id
    with pytest.raises(NoDeviceTimeLeft) as caught:
        submit(now=grader.now)
    assert "90 of your 90.5 device seconds" in caught.value.message
    assert "may need 60;" in caught.value.message
    submit("bob", now=grader.now)


def test_unfinished_submissions_of_a_team_are_bounded(
    database: Database, settings: Settings, submit: Submit
) -> None:
    for _ in range(settings.queued_per_team):
        submit()
    with pytest.raises(TooManyQueued):
        submit()


def test_only_the_team_and_staff_see_a_submission(database: Database, world: Any, submit: Submit) -> None:
    public_id = submit("ann")
    with database.read() as session:
        course = courses.get_course(session, "demo")
        for login in ("ann", "ta", "admin"):
            assert service.get(session, public_id, getattr(world, login)).public_id == public_id
        with pytest.raises(NotFound):
            service.get(session, public_id, world.bob)
        with pytest.raises(Forbidden):
            service.listing(session, course=course, user=world.bob, everyone=True)
        assert service.listing(session, course=course, user=world.bob) == []
        (seen,) = service.listing(session, course=course, user=world.ta, everyone=True, name=NAME)
        assert seen.public_id == public_id


def test_a_students_report_hides_what_is_hidden(
    database: Database, world: Any, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    spec = grader.grade(verdict=Verdict.WRONG_ANSWER)
    with database.read() as session:
        found = service.get(session, public_id, world.ann)
        own = service.report(session, found, staff=False)
        whole = service.report(session, found, staff=True)
    assert own is not None
    assert whole is not None
    assert whole.staff is not None
    assert whole.staff.hidden[0].case == "secret"
    text = own.model_dump_json()
    assert "secret" not in text
    assert spec.token not in text
    assert own.evidence == ()


def test_who_may_run_again(
    database: Database, settings: Settings, world: Any, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.grade()

    def rerun(login: str) -> None:
        with database.begin() as session:
            user = getattr(world, login)
            service.rerun(session, settings, service.get(session, public_id, user), by=user, now=grader.now)

    with pytest.raises(Forbidden):
        rerun("ann")
    rerun("ta")
    for login in ("ta", "ann"):
        with pytest.raises(WrongState):
            rerun(login)
    with pytest.raises(Forbidden), database.begin() as session:
        service.cancel(session, service.get(session, public_id, world.ann), by=world.ann)
    with database.begin() as session:
        service.cancel(session, service.get(session, public_id, world.ta), by=world.ta)
    rerun("ann")  # It is cancelled now, whoever did it.
