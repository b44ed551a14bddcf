"""Fills a database for `benchmarks.dispatch`: a class with a long history, and a full queue of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

from grader.assignment import find, load
from grader.bundle import make
from server.accounts import service as accounts
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.base import utc_now
from server.db.models import Assignment, AssignmentVersion, Course, DeviceUsage, Node, User, Worker
from server.db.session import Database
from server.grading import fairness
from server.settings import Settings

ASSIGNMENT = "kernels/add-rmsnorm"
ASSIGNMENTS = 12
STUDENTS = 500
WORKERS = 64
HARDWARE = "cpu"
RECENT = 11_520
"""Attempts that ended within the last hour: 64 workers with a job of 20 s each."""
_SUBMISSIONS = """
    INSERT INTO submissions (
        id, public_id, course_id, team_id, user_id, assignment_id, version_id, number, mode, reason, language,
        entry, language_given, hardware, devices, content_digest, state, created, queued, finished,
        failed_attempts, cancel_requested, expected_seconds, charged_seconds, charged_attempt, verdict,
        failure_class
    )
    SELECT
        i, 'p' || i, :course, team_id, user_id, assignment_id, version_id, i, 'grade', 'submit', 'python',
        'solve', {false}, :hardware, 1, 'd' || i, CASE WHEN i > :done THEN 'queued' ELSE 'done' END,
        {moment}, {moment}, CASE WHEN i > :done THEN NULL ELSE {moment} END,
        0, {false}, 20.0, CASE WHEN i > :done THEN 0.0 ELSE 20.0 END, i <= :done,
        CASE WHEN i > :done THEN NULL ELSE 'accepted' END, CASE WHEN i > :done THEN NULL ELSE 'none' END
    FROM {series}
    JOIN people ON people.n = i % {people}
    JOIN kinds ON kinds.n = (i / 7) % {kinds}
"""
_ATTEMPTS = """
    INSERT INTO attempts (
        course_id, team_id, submission_id, number, token, reason, hardware, state, opened, published,
        lease_until, deadline, started, finished, device_seconds, node, verdict
    )
    SELECT
        course_id, team_id, id, 1, 't' || id, 'submit', hardware, 'reported', created, created,
        created, created, created, finished, 20.0, 'n' || (id % {workers}), 'accepted'
    FROM submissions WHERE state = 'done'
"""
_FILES = """
    INSERT INTO submission_files (submission_id, name, sha256, size)
    SELECT id, 'solution.py', :digest, 1000 FROM submissions WHERE state = 'queued'
"""


@dataclass(frozen=True)
class _Class:
    """Ids of who hands in and what."""

    course: int
    digest: str
    people: Sequence[tuple[int, int]]
    """(student, team)."""
    kinds: Sequence[tuple[int, int]]
    """(assignment, version)."""
    nodes: Sequence[int]


def fill(database: Database, settings: Settings, submissions: int, queued: int) -> Sequence[int]:
    """So many submissions, so many of them queued, and live workers; the id of each worker's node."""
    with database.begin() as session:
        found = _class(session, settings)
    postgres = database.engine.dialect.name == "postgresql"
    with database.writer.connect() as connection:
        if postgres:
            # Rows that are right by construction need no checks one by one.
            connection.execute(text("SET session_replication_role = replica"))
        else:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        _rows(connection, found, submissions, submissions - queued)
        connection.commit()
    with database.engine.connect() as connection:
        if postgres:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")  # noqa: PLW2901
        connection.execute(text("VACUUM ANALYZE" if postgres else "ANALYZE"))
        connection.commit()
    return found.nodes


def _class(session: Session, settings: Settings) -> _Class:
    """A course, its people, assignments and workers, as the services make them."""
    now = utc_now()
    admin = accounts.create_user(
        session, settings, login="admin", name="Admin", password=None, site_admin=True
    )
    course = courses.create_course(session, slug="bench", title_en="B", title_zh="B", by=admin)
    students = [User(login=f"s{number}", name=f"S{number}") for number in range(STUDENTS)]
    session.add_all(students)
    session.flush()
    teams = {}
    for student in students:
        courses.enrol(session, course, student, by=admin)
        teams[student.id] = courses.team_of(session, course, student)
    nodes = [Node(name=f"n{number}", token_digest=f"{number:064}") for number in range(WORKERS)]
    session.add_all(nodes)
    session.flush()
    for node in nodes:
        session.add(
            Worker(node_id=node.id, name="worker", hardware=HARDWARE, versions={}, last_heartbeat=now)
        )
    for index, student in enumerate(students):
        weight = fairness.add(None, 1.0 + 7.0 * (index % 97), now)
        served = now - timedelta(minutes=index % 60)
        session.add(DeviceUsage(user_id=student.id, weight=weight, served=served))
    digest, kinds = _assignments(session, settings, course, admin, now)
    people = [(student, team.id) for student, team in teams.items() if team is not None]
    return _Class(course.id, digest, people, kinds, [node.id for node in nodes])


def _assignments(
    session: Session, settings: Settings, course: Course, admin: User, now: datetime
) -> tuple[str, list[tuple[int, int]]]:
    """One real assignment and copies of it, of which one closes soon; its digest, and ids of all."""
    bundle = make(load(find(ASSIGNMENT)))
    manifest = bundle.manifest.model_dump_json()
    blobs = BlobStore(settings.blob_folder)
    first = courses.publish_bundle(session, blobs, course, bundle.archive, manifest, by=admin)
    kinds = [(first.assignment_id, first.id)]
    copied = {
        column.key: getattr(first, column.key)
        for column in AssignmentVersion.__table__.columns
        if column.key not in ("id", "assignment_id")
    }
    for number in range(1, ASSIGNMENTS):
        closes = now + timedelta(hours=1) if number == 1 else None
        assignment = Assignment(course_id=course.id, track="kernels", slug=f"copy-{number}", closes=closes)
        session.add(assignment)
        session.flush()
        version = AssignmentVersion(assignment_id=assignment.id, **copied)
        session.add(version)
        session.flush()
        kinds.append((assignment.id, version.id))
    return first.digest, kinds


def _rows(connection: Connection, found: _Class, submissions: int, done: int) -> None:
    """Submissions and attempts: the latest within the last hour, the rest before; then the queue."""
    postgres = connection.dialect.name == "postgresql"
    for table, columns, rows in (
        ("people", ("user_id", "team_id"), found.people),
        ("kinds", ("assignment_id", "version_id"), found.kinds),
    ):
        one, two = columns
        connection.execute(
            text(f"CREATE TEMPORARY TABLE {table} (n INTEGER PRIMARY KEY, {one} INTEGER, {two} INTEGER)")
        )
        connection.execute(
            text(f"INSERT INTO {table} VALUES (:n, :one, :two)"),
            [{"n": n, "one": first, "two": second} for n, (first, second) in enumerate(rows)],
        )
    ages = (
        f"CASE WHEN i > {done} THEN ({submissions} - i) * 0.05 "
        f"WHEN i > {done - RECENT} THEN ({done} - i) * 3600.0 / {RECENT} "
        f"ELSE 3600.0 + ({done} - i) * 10.0 END"
    )
    connection.execute(
        text(
            _SUBMISSIONS.format(
                false="false" if postgres else "0",
                moment=f"(now() - ({ages}) * interval '1 second')"
                if postgres
                else f"strftime('%Y-%m-%d %H:%M:%f000', 'now', -({ages}) || ' seconds')",
                series="generate_series(1, :n) AS i"
                if postgres
                else "(WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < :n) "
                "SELECT i FROM c)",
                people=len(found.people),
                kinds=len(found.kinds),
            )
        ),
        {"n": submissions, "course": found.course, "hardware": HARDWARE, "done": done},
    )
    connection.execute(text(_ATTEMPTS.format(workers=WORKERS)))
    connection.execute(text(_FILES), {"digest": found.digest})
    if postgres:
        for table in ("submissions", "attempts"):
            highest = f"(SELECT max(id) FROM {table})"
            connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {highest})"))
