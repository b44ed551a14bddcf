"""The staff's API of nodes, quarantine and rejudging: see it, stop it, let it go on."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends

from server.access import CurrentUser, Db, Paging, StaffUser
from server.courses import service as courses
from server.db.models import Course, Node, User
from server.errors import Forbidden
from server.grading import service
from server.grading.schemas import (
    JobOut,
    NodeBody,
    NodeOut,
    QuarantineOut,
    RejudgeBody,
    RejudgeOut,
    WorkerOut,
)
from server.schemas import Items, cut

router = APIRouter(prefix="/api/v1", tags=["nodes"])
_ASSIGNMENT = "/courses/{slug}/assignments/{track}/{assignment}"


def staffed_courses(session: Db, user: CurrentUser) -> Sequence[Course]:
    """Courses whose staff the caller is; raises `Forbidden` if there is none. Nodes are everybody's."""
    found = [course for course, role in courses.courses_of(session, user) if role.is_staff]
    if not found and not user.site_admin:
        raise Forbidden(needs="staff of a course", needs_zh="某门课程的教学人员")
    return found


StaffedCourses = Annotated[Sequence[Course], Depends(staffed_courses)]


def _nodes_staff(user: StaffUser, _courses: StaffedCourses) -> User:
    return user


NodesStaff = Annotated[User, Depends(_nodes_staff)]


@router.get("/workers")
def workers(session: Db, user: NodesStaff, page: Paging) -> Items[WorkerOut]:  # noqa: ARG001
    """The workers, by hardware and name (staff of any course)."""
    rows, after = cut(service.workers(session), page.after, page.limit)
    jobs = service.jobs_of_workers(session)
    items = []
    for worker in rows:
        job = jobs.get(worker.id)
        items.append(
            WorkerOut(
                node=worker.node.name,
                node_state=worker.node.state,
                name=worker.name,
                hardware=worker.hardware,
                devices=worker.devices,
                state=worker.state,
                consuming=worker.consuming,
                last_heartbeat=worker.last_heartbeat,
                versions=worker.versions,
                health=worker.health,
                job=None
                if job is None
                else JobOut(submission=job.submission.public_id, attempt=job.number, started=job.started),
            )
        )
    return Items(items=items, next=after)


@router.get("/nodes")
def nodes(session: Db, user: NodesStaff, page: Paging) -> Items[NodeOut]:  # noqa: ARG001
    """The nodes, by name (staff of any course)."""
    rows, after = cut(service.nodes(session), page.after, page.limit)
    return Items(items=[_node(node) for node in rows], next=after)


@router.patch("/nodes/{name}")
def change_node(name: str, body: NodeBody, session: Db, user: NodesStaff) -> NodeOut:
    """Pause, drain, set aside, quarantine or reactivate a node (staff of any course)."""
    node = service.node(session, name)
    service.set_node_state(session, node, body.state, by=user)
    return _node(node)


@router.get("/courses/{slug}/quarantine")
def quarantined(slug: str, session: Db, user: StaffUser, page: Paging) -> Items[QuarantineOut]:
    """Assignments of which nothing is graded, because grading them fails again and again (staff)."""
    course = courses.staff_course(session, slug, user)
    rows, after = cut(service.quarantined_assignments(session, [course]), page.after, page.limit)
    items = [
        QuarantineOut(assignment=row.name, since=row.quarantined, evidence=row.quarantine or {})
        for row in rows
        if row.quarantined is not None
    ]
    return Items(items=items, next=after)


@router.delete(f"{_ASSIGNMENT}/quarantine", status_code=204)
def lift(slug: str, track: str, assignment: str, session: Db, user: StaffUser) -> None:
    """Let an assignment be graded again (staff)."""
    course = courses.staff_course(session, slug, user)
    view = courses.get_assignment(session, course, f"{track}/{assignment}", staff=True)
    service.lift(session, view.assignment, by=user)


@router.post(f"{_ASSIGNMENT}/rejudge", status_code=202)
def rejudge(
    slug: str, track: str, assignment: str, body: RejudgeBody, session: Db, user: StaffUser
) -> RejudgeOut:
    """Grade all submissions of an assignment again, behind everybody's own (staff), at no cost."""
    course = courses.staff_course(session, slug, user)
    view = courses.get_assignment(session, course, f"{track}/{assignment}", staff=True)
    count = service.rejudge(session, view.assignment, by=user, errors_only=body.errors_only, mode=body.mode)
    return RejudgeOut(submissions=count)


def _node(node: Node) -> NodeOut:
    return NodeOut(
        name=node.name,
        state=node.state,
        quarantine=node.quarantine if node.state == "quarantined" else None,
        last_heartbeat=node.last_heartbeat,
    )
