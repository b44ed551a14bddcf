"""All tables, one module a noun. Importing this package registers every one of them in `Base.metadata`."""

from server.db.models.account import ApiToken, LoginFailure, User, WebSession
from server.db.models.assignment import Assignment, AssignmentVersion
from server.db.models.attempt import Attempt, AttemptBlob
from server.db.models.audit import AuditEntry
from server.db.models.blob import Blob
from server.db.models.course import Course, Membership, Team, TeamMember
from server.db.models.node import Node, Worker
from server.db.models.report import CaseResult, Report, Score
from server.db.models.submission import Submission, SubmissionFile
from server.db.models.usage import DeviceUsage

__all__ = [
    "ApiToken", "Assignment", "AssignmentVersion", "Attempt", "AttemptBlob", "AuditEntry", "Blob",
    "CaseResult", "Course", "DeviceUsage", "LoginFailure", "Membership", "Node", "Report", "Score",
    "Submission", "SubmissionFile", "Team", "TeamMember", "User", "WebSession", "Worker",
]  # fmt: skip
