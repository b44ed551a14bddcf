"""Publishes assignment folders of this machine in a course: bundle (in a subprocess), then a new version."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import assignment as assignments
from grader import bundle
from server.accounts import service as accounts
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.session import Database
from server.errors import NotFound
from server.settings import Settings


@dataclass(frozen=True)
class Published:
    """What publishing one folder did."""

    name: str
    digest: str
    changed: bool


def folders(root: Path) -> Sequence[Path]:
    """Every assignment folder `track/slug` below `root`."""
    return sorted(path.parent for path in root.glob("*/*/assignment.toml"))


def publish(database: Database, settings: Settings, course: str, path: str, *, by: str) -> Published:
    """Make the folder's content the current version, unless it is that already.

    Raises AssignmentError with all faults of the folder, or a DomainError of the server.
    """
    assignment = assignments.load(assignments.find(path))
    with database.read() as session:
        known = {
            view.assignment.name: view.version.digest
            for view in courses.assignments(session, courses.get_course(session, course), staff=True)
            if view.version is not None
        }
    if known.get(assignment.id) == assignment.digest:
        return Published(assignment.id, assignment.digest, changed=False)
    made = bundle.make(assignment)
    with database.begin() as session:
        user = accounts.find_user(session, by)
        if user is None:
            raise NotFound(what=f"user {by}")
        version = courses.publish_bundle(
            session,
            BlobStore(settings.blob_folder),
            courses.staff_course(session, course, user),
            made.archive,
            made.manifest.model_dump_json(),
            by=user,
        )
        return Published(assignment.id, version.digest, changed=True)
