"""Quarantine after repeated grader errors: finds whether a node or an assignment is to blame, and stops it.

A failure is what a node and an assignment did together. Of a pair of them that failed and has not worked
since, the assignment is to blame if other nodes fail with it too, or if the node does well with other
assignments; the node if it fails with several assignments, or if other nodes do well with that one. The
failures of one student alone are never enough: nobody can bring it about with one poisonous submission.

Several students can, who agree on it. So an assignment in quarantine is tried on: one submission at a time of
a student with whom it has not failed. If that is graded, the others brought their failures about: it goes on
by itself. A node in quarantine is tried in the same way: with one submission at a time, sent to it alone, of
a student who has not failed there, to an assignment that has failed there if there is one. And whoever failed
with an assignment where grading it has succeeded since is no witness any more.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from sqlalchemy.orm import Session

from grader.contract import Verdict
from server.db.audit import record
from server.db.base import utc_now
from server.db.models import Assignment, Node, Submission, User
from server.db.models.node import NodeState
from server.db.session import Job, publish_after_commit
from server.grading import queries, queue_queries

WINDOW = timedelta(hours=1)
FAILURES = 3
"""So many failures, of at least `STUDENTS` students, are no accident."""
STUDENTS = 2
TRIAL_PAUSE = timedelta(minutes=5)
"""After a node has failed its trial, the next comes so much later: a broken one meets few students."""
VERDICTS = frozenset({Verdict.GRADER_ERROR, Verdict.ASSIGNMENT_ERROR})
"""Verdicts that tell of a node or an assignment; a noisy machine (`unstable_timing`) is none of them."""
_NEVER = datetime.min.replace(tzinfo=UTC)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Failure:
    """One attempt that failed through no fault of its student."""

    node: str
    assignment: int
    student: int
    time: datetime


@dataclass(frozen=True)
class Success:
    """When a node last graded an assignment as it should."""

    node: str
    assignment: int
    time: datetime


@dataclass(frozen=True)
class Evidence:
    """What speaks against a node or an assignment."""

    failures: int
    students: int
    nodes: tuple[str, ...]
    assignments: tuple[int, ...]


def blame(
    failures: Iterable[Failure], successes: Collection[Success]
) -> tuple[Mapping[str, Evidence], Mapping[int, Evidence]]:
    """The nodes and the assignments to blame, each with the evidence against it. Assignments come first."""
    works = {(success.node, success.assignment): success.time for success in successes}
    ordered = sorted(failures, key=lambda failure: failure.time)
    lasting = [
        failure for failure in ordered if works.get((failure.node, failure.assignment), _NEVER) < failure.time
    ]

    latest: dict[tuple[str | None, int | None], datetime] = {}
    for success in successes:
        for key in (
            (success.node, success.assignment), (success.node, None), (None, success.assignment),
        ):  # fmt: skip
            latest[key] = max(success.time, latest.get(key, _NEVER))

    def well(since: datetime, *, node: str | None = None, assignment: int | None = None) -> bool:
        """Whether grading succeeded since then, on that node, with that assignment, or both."""
        return latest.get((node, assignment), _NEVER) > since

    first_failed: dict[tuple[int, int], datetime] = {}
    first_failed_on: dict[tuple[int, int, str], datetime] = {}
    for failure in ordered:
        first_failed.setdefault((failure.student, failure.assignment), failure.time)
        first_failed_on.setdefault((failure.student, failure.assignment, failure.node), failure.time)

    def against_assignment(failure: Failure) -> bool:
        """Whether nobody was graded with it since that student failed with it first."""
        since = first_failed[failure.student, failure.assignment]
        return not well(since, assignment=failure.assignment)

    def against_node(failure: Failure) -> bool:
        """Whether nobody was graded there with that assignment since that student failed so first.

        What it does with other assignments is no excuse: it may lack what this one needs.
        """
        since = first_failed_on[failure.student, failure.assignment, failure.node]
        return not well(since, node=failure.node, assignment=failure.assignment)

    assignments = {}
    for assignment in sorted({failure.assignment for failure in lasting}):
        found = [
            failure for failure in lasting if failure.assignment == assignment and against_assignment(failure)
        ]
        several = len({failure.node for failure in found}) > 1
        others_do = any(well(failure.time, node=failure.node) for failure in found)
        if _enough(found) and (several or others_do):
            assignments[assignment] = _evidence(found)
    nodes = {}
    rest = [failure for failure in lasting if failure.assignment not in assignments]
    for node in sorted({failure.node for failure in rest}):
        found = [failure for failure in rest if failure.node == node and against_node(failure)]
        several = len({failure.assignment for failure in found}) > 1
        others_do = any(well(failure.time, assignment=failure.assignment) for failure in found)
        if _enough(found) and (several or others_do) and not well(found[-1].time, node=node):
            nodes[node] = _evidence(found)
    return nodes, assignments


def look(session: Session, now: datetime) -> int:
    """Quarantine what is to blame by the failures of the last hour; how many nodes and assignments that were.

    A failure before a quarantine was lifted, or a node cleared, counts no more.
    """
    since = now - WINDOW
    rows = queries.failures(session, VERDICTS, since)
    successes = [Success(*row) for row in queries.successes(session, VERDICTS, since)]
    _clear(session, successes, now)
    if len(rows) < FAILURES:
        return 0
    nodes = {node.name: node for node in queries.nodes(session)}
    assignments = {found.id: found for found in queries.assignments(session, {row[1] for row in rows})}
    failures = [
        failure
        for failure in (Failure(*row) for row in rows)
        if failure.node in nodes
        and failure.time > (nodes[failure.node].trusted_since or _NEVER)
        and failure.time > (assignments[failure.assignment].trusted_since or _NEVER)
    ]
    bad_nodes, bad_assignments = blame(failures, successes)
    names = {key: found.name for key, found in assignments.items()}
    count = 0
    for name, evidence in bad_nodes.items():
        document = _document(evidence, names) | {"since": now.isoformat()}
        count += _quarantine_node(session, nodes[name], document)
    for key, evidence in bad_assignments.items():
        count += _quarantine_assignment(session, assignments[key], _document(evidence, names), now)
    return count


def trials(session: Session, now: datetime) -> Iterator[Submission]:
    """For each assignment in quarantine one submission to try it on, locked; none while one is under way.

    It is of a student who has not failed with it within the hour, and has waited longest. Open its attempt
    before asking for the next: a student has one under way.
    """
    if found := queue_queries.tried_on(session):
        queue_queries.lock_dispatch(session)
    for assignment in found:
        submission = queue_queries.next_trial(session, assignment, VERDICTS, now - WINDOW)
        if submission is not None:
            yield submission


def node_trials(session: Session, alive: datetime, now: datetime) -> Iterator[tuple[Node, Submission]]:
    """For each node in quarantine one submission to try it with, locked, if a worker of it was heard of since
    `alive`.

    None while it has a job, nor soon after a trial in vain. An innocent submission loses one attempt at most:
    it must not have failed yet, and its student not on that node within the hour. Nodes that staff have put
    there wait for staff. Open each attempt before asking for the next.
    """
    if not queue_queries.untried_nodes(session, alive):
        return
    queue_queries.lock_dispatch(session)
    failed = [Failure(*row) for row in queries.failures(session, VERDICTS, now - TRIAL_PAUSE)]
    for node, hardware in queue_queries.untried_nodes(session, alive):  # Another sweep may have been faster.
        since = _quarantined(node)
        if since is None or any(failure.node == node.name and failure.time > since for failure in failed):
            continue
        submission = queue_queries.next_node_trial(session, node, hardware, VERDICTS, now - WINDOW)
        if submission is not None:
            yield node, submission


def _clear(session: Session, successes: Collection[Success], now: datetime) -> None:
    """End the quarantine of what has been graded, or has graded, since it began."""
    _clear_nodes(session, successes, now)
    latest: dict[int, datetime] = {}
    for success in successes:
        latest[success.assignment] = max(success.time, latest.get(success.assignment, _NEVER))
    for assignment in queue_queries.tried_on(session, also_busy=True):
        if assignment.quarantined is None or latest.get(assignment.id, _NEVER) <= assignment.quarantined:
            continue
        evidence = assignment.quarantine or {}
        assignment.quarantined, assignment.quarantine = None, None
        _log.warning("assignment cleared", assignment=assignment.name, **evidence)
        course = assignment.course_id
        record(session, "assignment.clear", assignment.name, actor=None, course_id=course, **evidence)
        publish_after_commit(session, Job("dispatch"))


def _clear_nodes(session: Session, successes: Collection[Success], now: datetime) -> None:
    for node in queries.nodes(session):
        since, evidence = _quarantined(node), node.quarantine or {}
        if since is None:
            continue
        if not any(success.node == node.name and success.time > since for success in successes):
            continue
        node.state, node.quarantine, node.trusted_since = NodeState.ACTIVE, None, now
        _log.warning("node cleared", node=node.name, **evidence)
        record(session, "node.clear", node.name, actor=None, course_id=None, **evidence)
        publish_after_commit(session, Job("dispatch"))


def _quarantined(node: Node) -> datetime | None:
    """Since when failures keep a node in quarantine; None if they do not, or staff put it there."""
    since = (node.quarantine or {}).get("since")
    return datetime.fromisoformat(since) if node.state is NodeState.QUARANTINED and since else None


def lift(session: Session, assignment: Assignment, *, by: User, now: datetime | None = None) -> None:
    """Let an assignment be graded again; what failed before counts against it no more."""
    assignment.quarantined = None
    assignment.quarantine = None
    assignment.trusted_since = now or utc_now()
    record(session, "assignment.lift", assignment.name, actor=by, course_id=assignment.course_id)
    publish_after_commit(session, Job("dispatch"))


def _quarantine_node(session: Session, node: Node, evidence: dict[str, Any]) -> bool:
    if node.state is not NodeState.ACTIVE:
        return False
    node.state = NodeState.QUARANTINED
    node.quarantine = evidence
    _log.error("node quarantined", node=node.name, **evidence)
    record(session, "node.quarantine", node.name, actor=None, course_id=None, **evidence)
    return True


def _quarantine_assignment(
    session: Session, assignment: Assignment, evidence: dict[str, Any], now: datetime
) -> bool:
    if assignment.quarantined is not None:
        return False
    assignment.quarantined = now
    assignment.quarantine = evidence
    _log.error("assignment quarantined", assignment=assignment.name, **evidence)
    record(
        session,
        "assignment.quarantine",
        assignment.name,
        actor=None,
        course_id=assignment.course_id,
        **evidence,
    )
    return True


def _enough(failures: Collection[Failure]) -> bool:
    return len(failures) >= FAILURES and len({failure.student for failure in failures}) >= STUDENTS


def _evidence(failures: Collection[Failure]) -> Evidence:
    return Evidence(
        failures=len(failures),
        students=len({failure.student for failure in failures}),
        nodes=tuple(sorted({failure.node for failure in failures})),
        assignments=tuple(sorted({failure.assignment for failure in failures})),
    )


def _document(evidence: Evidence, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "failures": evidence.failures,
        "students": evidence.students,
        "nodes": list(evidence.nodes),
        "assignments": [names[key] for key in evidence.assignments],
    }
