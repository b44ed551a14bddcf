"""Courses, roles, and publication of assignments."""

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest

from grader.bundle import Bundle
from server.blobs import BlobStore
from server.courses import bundles, service
from server.courses.service import Openness
from server.db.models import User
from server.db.models.course import Role
from server.db.session import Database
from server.errors import BundleRefused, Closed, Conflict, Forbidden, Invalid, NotFound, NotOpen

NAME = "kernels/double"


def test_a_role_change_keeps_the_team_and_takes_staff_off_boards(database: Database, world: Any) -> None:
    with database.begin() as session:
        course = service.get_course(session, "demo")
        ann = session.get_one(User, world.ann.id)
        before = service.team_of(session, course, ann)
        assert before is not None
        assert not before.staff
        service.enrol(session, course, ann, Role.TA, by=world.admin)
        after = service.team_of(session, course, ann)
        assert after is before
        assert after.staff
        assert service.role_of(session, course, ann) is Role.TA
        actions = [entry.action for entry in service.audit_log(session, course)]
        assert actions[0] == "member.role"


def test_who_sees_a_course(database: Database, world: Any) -> None:
    with database.begin() as session:
        service.create_course(session, slug="other", title_en="Other", title_zh="其他", by=None)
        for login, courses in (("ann", 1), ("ta", 1), ("admin", 2)):
            user = session.get_one(User, getattr(world, login).id)
            assert len(service.courses_of(session, user)) == courses
        with pytest.raises(NotFound):
            service.visible_course(session, "other", world.ann)
        with pytest.raises(NotFound):
            service.visible_course(session, "none", world.admin)
        with pytest.raises(Forbidden):
            service.staff_course(session, "demo", world.ann)
        with pytest.raises(Forbidden):
            service.staff_course(session, "demo", world.ta, least=Role.ADMIN)
        assert service.staff_course(session, "demo", world.ta).slug == "demo"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"slug": "demo"}, Conflict),
        ({"slug": "Two Words"}, Invalid),
        ({"timezone": "Mars/Olympus"}, Invalid),
        ({"title_en": " "}, Invalid),
    ],
)
def test_courses_that_cannot_be_created(
    database: Database, world: Any, changes: dict[str, str], error: type[Exception]
) -> None:
    values: dict[str, Any] = {"slug": "new", "title_en": "New", "title_zh": "新"} | changes
    with pytest.raises(error), database.begin() as session:
        service.create_course(session, **values, by=world.admin)


def test_dates_decide_what_students_see_and_hand_in(database: Database, grader: Any) -> None:
    now = grader.now
    with database.begin() as session:
        course = service.get_course(session, "demo")
        view = service.get_assignment(session, course, NAME, staff=True, now=now)
        assert view.state is Openness.OPEN
        service.set_dates(
            session, view.assignment, by=grader.world.admin, opens=now + timedelta(hours=1),
            closes=now + timedelta(hours=2),
        )  # fmt: skip

        def state(hours: float) -> Openness:
            (found,) = service.assignments(session, course, staff=False, now=now + timedelta(hours=hours))
            return found.state

        assert [state(0), state(1), state(1.9), state(2)] == ["not_open", "open", "open", "closed"]
        with pytest.raises(NotOpen):
            service.get_assignment(session, course, NAME, staff=False, now=now)
        staff = service.get_assignment(session, course, NAME, staff=True, now=now)
        assert service.require_open(staff, staff=True).digest == grader.world.digest
        closed = service.get_assignment(session, course, NAME, staff=False, now=now + timedelta(hours=3))
        with pytest.raises(Closed):
            service.require_open(closed, staff=False)
        with pytest.raises(Invalid):
            service.set_dates(session, view.assignment, by=grader.world.admin, closes=now)


def test_an_unpublished_assignment_is_hidden_and_earlier_versions_can_be_put_back(
    database: Database, blobs: BlobStore, world: Any, changed_bundle: Bundle
) -> None:
    with database.begin() as session:
        course = service.get_course(session, "demo")
        second = service.publish_bundle(
            session, blobs, course, changed_bundle.archive, changed_bundle.manifest.model_dump_json(),
            by=world.admin,
        )  # fmt: skip
        assignment = second.assignment
        assert second.readme_en == "# Doubling again\n"
        assert [version.current for version in service.versions(session, assignment)] == [True, False]
        service.put_back(session, service.get_version(session, assignment, world.digest), by=world.admin)
        session.expire_all()
        assert [version.current for version in service.versions(session, assignment)] == [False, True]
        service.unpublish(session, assignment, by=world.admin)
        assert service.assignments(session, course, staff=False) == []
        assert service.assignments(session, course, staff=True)[0].state is Openness.UNPUBLISHED
        with pytest.raises(NotFound):
            service.get_assignment(session, course, NAME, staff=False)


def test_publishing_the_same_bundle_again_keeps_dates(
    database: Database, blobs: BlobStore, grader: Any, bundle: Bundle
) -> None:
    with database.begin() as session:
        course = service.get_course(session, "demo")
        for closes in (grader.now, service.UNSET):
            version = service.publish_bundle(
                session, blobs, course, bundle.archive, bundle.manifest.model_dump_json(),
                by=grader.world.admin, closes=closes,
            )  # fmt: skip
        assert version.assignment.closes == grader.now
        assert len(service.versions(session, version.assignment)) == 1


def test_the_starter_has_no_hidden_case(database: Database, blobs: BlobStore, world: Any) -> None:
    with database.read() as session:
        course = service.get_course(session, "demo")
        version = service.get_assignment(session, course, NAME, staff=False).version
        assert version is not None
        with zipfile.ZipFile(io.BytesIO(service.starter(blobs, version))) as opened:
            names = opened.namelist()
            contents = b"".join(opened.read(name) for name in names)
    assert "double/starter/solution.py" in names
    assert not [name for name in names if "hidden" in name]
    assert b"secret" not in contents


def test_bundles_that_are_refused(database: Database, blobs: BlobStore, world: Any, bundle: Bundle) -> None:
    manifest = bundle.manifest.model_dump_json()
    other = bundle.manifest.model_copy(update={"digest": "0" * 64}).model_dump_json()
    renamed = bundle.manifest.model_copy(update={"id": "kernels/other"}).model_dump_json()
    bad = [
        (b"", manifest),
        (b"junk", manifest),
        (bundle.archive[:-4096], manifest),
        (bundle.archive, "{}"),
        (bundle.archive, "not JSON"),
        (bundle.archive, other),
        (bundle.archive, renamed),
    ]

    def publish(archive: bytes, described: str) -> None:
        with database.begin() as session:
            course = service.get_course(session, "demo")
            service.publish_bundle(session, blobs, course, archive, described, by=world.admin)

    for archive, described in bad:
        with pytest.raises(BundleRefused):
            publish(archive, described)


@pytest.mark.parametrize(
    "changes",
    [
        {"targets": []},
        {"parts": []},
        {"weight": float("nan")},
        {"weight": 2.0},
        {"hidden_cases": 10**30},
        {"title": {"en": "Other", "zh": "加倍"}},
        {"topics": ["9.9"]},
        {"cases": []},
        {"points": {"correctness": 1.0, "performance": 0.0}},
    ],
)
def test_a_manifest_that_disagrees_with_its_archive_is_refused(
    database: Database, blobs: BlobStore, world: Any, changed_bundle: Bundle, changes: dict[str, Any]
) -> None:
    manifest = json.dumps(changed_bundle.manifest.model_dump(mode="json") | changes)
    with database.read() as session:
        course = service.get_course(session, "demo")
        with pytest.raises(BundleRefused):
            service.publish_bundle(session, blobs, course, changed_bundle.archive, manifest, by=world.admin)


@pytest.mark.parametrize(
    ("key", "value"),
    [("params", {"n": 6}), ("bounds", {"mars": {"seconds": 1.0, "by": "dram"}}), ("cost", {"steps": -1})],
)
def test_a_case_that_disagrees_is_refused(bundle: Bundle, key: str, value: Any) -> None:
    manifest = bundle.manifest.model_dump(mode="json")
    manifest["cases"][0][key] = value
    with pytest.raises(BundleRefused, match=key):
        bundles.unpack(bundle.archive, json.dumps(manifest))


def test_publishing_again_replaces_a_wrong_manifest(
    database: Database, blobs: BlobStore, world: Any, bundle: Bundle
) -> None:
    with database.begin() as session:
        course = service.get_course(session, "demo")
        version = service.get_version(
            session, service.get_assignment(session, course, NAME, staff=True).assignment, world.digest
        )
        right = version.manifest
        version.manifest = right | {"targets": [], "hidden_cases": 7}
    for _ in range(2):
        with database.begin() as session:
            course = service.get_course(session, "demo")
            text = bundle.manifest.model_dump_json()
            version = service.publish_bundle(session, blobs, course, bundle.archive, text, by=world.admin)
            assert version.manifest == right
    with database.read() as session:
        entries = service.audit_log(session, service.get_course(session, "demo"))
        (entry,) = [entry for entry in entries if entry.action == "assignment.manifest"]
    assert entry.details == {"digest": world.digest, "changed": ["hidden_cases", "targets"]}
