"""What the API says of courses, members and assignments."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from server.courses.service import AssignmentView
from server.db.models import AssignmentVersion, AuditEntry, Course, Membership
from server.db.models.course import Role
from server.schemas import Body, Moment


class CourseBody(Body):
    """A course to create."""

    slug: str
    title_en: str
    title_zh: str
    timezone: str = "UTC"
    public_boards: bool = False


class CourseChanges(Body):
    """What may change in a course."""

    public_boards: bool


class CourseOut(BaseModel):
    """A course, and the caller's role in it."""

    slug: str
    title_en: str
    title_zh: str
    timezone: str
    public_boards: bool
    role: Role

    @classmethod
    def of(cls, course: Course, role: Role) -> "CourseOut":
        """From the rows."""
        return cls(
            slug=course.slug, title_en=course.title_en, title_zh=course.title_zh, timezone=course.timezone,
            public_boards=course.public_boards, role=role,
        )  # fmt: skip


class MemberBody(Body):
    """Who becomes a member, as what."""

    login: str
    role: Role = Role.STUDENT


class MemberOut(BaseModel):
    """A member of a course."""

    login: str
    name: str
    role: Role

    @classmethod
    def of(cls, membership: Membership) -> "MemberOut":
        """From the row with its user."""
        return cls(login=membership.user.login, name=membership.user.name, role=membership.role)


class TargetOut(BaseModel):
    """Where an assignment is graded."""

    hardware: str
    devices: int
    primary: bool
    languages: list[str]


class AssignmentOut(BaseModel):
    """An assignment in a course."""

    id: str
    title_en: str
    title_zh: str
    state: str
    """`unpublished`, `not_open`, `open` or `closed`."""
    opens: datetime | None
    closes: datetime | None
    attempt_limit: int | None
    device_seconds_per_day: float | None
    version: str | None
    """Digest of the bundle: the dataset version."""
    languages: list[str]
    targets: list[TargetOut]

    @classmethod
    def of(cls, view: AssignmentView) -> "AssignmentOut":
        """From the view; of an unpublished one only the name is known."""
        found = view.assignment
        manifest = view.manifest if view.version is not None else None
        return cls(
            id=found.name,
            title_en=view.version.title_en if view.version else found.name,
            title_zh=view.version.title_zh if view.version else found.name,
            state=view.state.value,
            opens=found.opens,
            closes=found.closes,
            attempt_limit=found.attempt_limit,
            device_seconds_per_day=found.device_seconds_per_day,
            version=view.version.digest if view.version else None,
            languages=[language.value for language in manifest.languages] if manifest else [],
            targets=[
                TargetOut(
                    hardware=target.hardware,
                    devices=target.devices,
                    primary=target.primary,
                    languages=[language.value for language in target.languages or manifest.languages],
                )
                for target in manifest.targets
            ]
            if manifest
            else [],
        )


class AssignmentDetailOut(AssignmentOut):
    """The same with its text in both languages."""

    readme_en: str
    readme_zh: str


class DatesBody(Body):
    """Dates and limits to set; null clears one, a key that is missing leaves it."""

    opens: Moment | None = None
    closes: Moment | None = None
    attempt_limit: int | None = Field(default=None, ge=1)
    device_seconds_per_day: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def given(self) -> dict[str, Any]:
        """Only what was sent."""
        return {field: getattr(self, field) for field in self.model_fields_set}


class VersionOut(BaseModel):
    """One version of an assignment."""

    model_config = ConfigDict(from_attributes=True)

    digest: str
    current: bool
    created: datetime

    @classmethod
    def of(cls, version: AssignmentVersion) -> "VersionOut":
        """From the row."""
        return cls.model_validate(version)


class AuditOut(BaseModel):
    """One entry of the audit log; an actor of null is the system."""

    id: int
    time: datetime
    actor: str | None
    action: str
    subject: str
    details: dict[str, Any]

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditOut":
        """From the row with its actor."""
        return cls(
            id=entry.id, time=entry.time, actor=entry.actor.login if entry.actor else None,
            action=entry.action, subject=entry.subject, details=entry.details,
        )  # fmt: skip
