"""Who is to blame for repeated grader errors, what is stopped for it, and that staff let it go on."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from grader.contract import Verdict
from server.db.models import Assignment, AuditEntry, Node, Submission, User
from server.db.models.node import NodeState
from server.db.session import Database, Job
from server.errors import NodeStopped
from server.grading import queries, queue, service
from server.grading.quarantine import FAILURES, STUDENTS, TRIAL_PAUSE, WINDOW, Failure, Success, blame
from server.grading.states import SubmissionState

Submit = Callable[..., str]
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def _failures(*pairs: tuple[str, int, int], start: int = 0) -> list[Failure]:
    """Failures one minute apart, given as (node, assignment, student)."""
    return [
        Failure(node, assignment, student, NOW + timedelta(minutes=start + index))
        for index, (node, assignment, student) in enumerate(pairs)
    ]


def _well(node: str, assignment: int, minute: float) -> Success:
    return Success(node, assignment, NOW + timedelta(minutes=minute))


A, B, C = 1, 2, 3
CASES: list[tuple[str, list[Failure], list[Success], set[str], set[int]]] = [
    ("one assignment on two nodes", _failures(("n", A, 1), ("m", A, 2), ("n", A, 1)), [], set(), {A}),
    ("one node with two assignments", _failures(("n", A, 1), ("n", B, 2), ("n", A, 1)), [], {"n"}, set()),
    ("an only node that does well with others", _failures(("n", A, 1), ("n", A, 2), ("n", A, 1)),
     [_well("n", B, 1.5)], set(), {A}),
    ("an only assignment that others do well with", _failures(("n", A, 1), ("n", A, 2), ("n", A, 1)),
     [_well("m", A, 1.5)], {"n"}, set()),
    ("one node, one assignment: nobody knows", _failures(("n", A, 1), ("n", A, 2), ("n", A, 1)), [],
     set(), set()),
    ("a pair that is at odds alone", _failures(("n", A, 1), ("n", A, 2), ("n", A, 1)),
     [_well("m", A, 9), _well("n", B, 9)], set(), set()),
    ("one student's poison", _failures(*[("n", A, 1), ("m", A, 1), ("n", B, 1)] * 3), [], set(), set()),
    ("too few", _failures(("n", A, 1), ("m", A, 2)), [], set(), set()),
    ("got over", _failures(("n", A, 1), ("n", B, 2), ("n", A, 1)), [_well("n", A, 5), _well("n", B, 5)],
     set(), set()),
    ("worked before, and no more", _failures(("n", A, 1), ("n", B, 2), ("n", A, 1)), [_well("n", C, -5)],
     {"n"}, set()),
    ("a bad assignment does not make its nodes bad",
     _failures(("n", A, 1), ("m", A, 2), ("n", A, 3), ("n", B, 1)), [_well("m", B, 9)], set(), {A}),
    ("who failed where grading succeeded since is no witness",
     _failures(("n", A, 1), ("m", A, 2)) + _failures(("n", A, 1), ("m", A, 2), ("n", A, 1), start=5),
     [_well("n", A, 3)], set(), set()),
    ("others are",
     _failures(("n", A, 1), ("m", A, 2)) + _failures(("n", A, 3), ("m", A, 4), ("n", A, 3), start=5),
     [_well("n", A, 3)], set(), {A}),
    ("nor is one against a node that has graded the same since",
     _failures(("n", A, 1), ("n", B, 2)) + _failures(("n", A, 1), ("n", B, 2), ("n", A, 1), start=5),
     [_well("n", A, 3), _well("n", B, 3)], set(), set()),
    ("a node that lacks what one assignment needs, and does well with others",
     _failures(("n", A, 1)) + _failures(("n", A, 2), start=2) + _failures(("n", A, 3), start=4),
     [_well("n", B, 3), _well("m", A, 3)], {"n"}, set()),
    ("the same, but it works at the moment",
     _failures(("n", A, 1)) + _failures(("n", A, 2), start=2) + _failures(("n", A, 3), start=4),
     [_well("n", B, 5), _well("m", A, 3)], set(), set()),
    ("both at once", _failures(("n", A, 1), ("m", A, 2), ("m", A, 3), ("n", B, 1), ("n", C, 2), ("n", B, 3)),
     [_well("m", B, 9)], {"n"}, {A}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "successes", "nodes", "assignments"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_who_is_to_blame(
    failures: list[Failure], successes: list[Success], nodes: set[str], assignments: set[int]
) -> None:
    for order in (failures, failures[::-1]):
        bad_nodes, bad_assignments = blame(order, successes)
        assert (set(bad_nodes), set(bad_assignments)) == (nodes, assignments)


_PAIR = (st.sampled_from("nm"), st.sampled_from([A, B]))
_MOMENT = st.integers(0, 40).map(lambda minute: NOW + timedelta(minutes=minute))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.builds(Failure, *_PAIR, st.sampled_from([1, 2, 3]), _MOMENT), max_size=12),
    st.lists(
        st.builds(Success, *_PAIR, _MOMENT), max_size=4, unique_by=lambda one: (one.node, one.assignment)
    ),
)
def test_nobody_is_blamed_who_works(failures: list[Failure], successes: list[Success]) -> None:
    last = max([failure.time for failure in failures], default=NOW)
    nodes, assignments = blame(failures, successes)
    for evidence in [*nodes.values(), *assignments.values()]:
        assert evidence.failures >= FAILURES
        assert evidence.students >= STUDENTS
    for success in successes:
        if success.time > last:
            assert success.node not in nodes
            assert success.assignment not in assignments


class Fleet:
    """Nodes that grade as told; `database` and `grader` are those of the test."""

    def __init__(self, database: Database, grader: Any, submit: Submit) -> None:
        self.database, self.grader, self.submit = database, grader, submit

    def add(self, name: str) -> None:
        with self.database.begin() as session:
            service.register_node(session, name)

    def grade(self, login: str, node: str, verdict: Verdict, assignment: int | None = None) -> str:
        """A submission of that student, graded on that node until it is final; its id."""
        public_id = self.submit(login, now=self.grader.now)
        if assignment is not None:
            with self.database.begin() as session:
                session.execute(
                    update(Submission)
                    .where(Submission.public_id == public_id)
                    .values(assignment_id=assignment, number=Submission.id + 1000)
                )
        for _ in range(self.grader.settings.max_attempts):
            self.grader.wait(1)
            self.beat(node)
            self.grader.dispatch()
            self.finish(public_id, node, verdict)
            if self.state(public_id).is_final:
                break
        return public_id

    def finish(self, public_id: str, node: str, verdict: Verdict) -> None:
        """Grade a dispatched submission on that node."""
        with self.database.begin() as session:
            found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            (attempt,) = queries.open_attempts(session, found)
            spec = queue.job_spec(attempt)
            row = service.node(session, node)
            service.claim(
                session, self.grader.settings, token=spec.token, node=row, worker="w", now=self.grader.now
            )
        self.grader.wait(1)
        assert self.grader.send(self.grader.report(spec, verdict=verdict)).outcome == "stored"

    def beat(self, node: str) -> None:
        with self.database.begin() as session:
            service.heartbeat(
                session, self.grader.settings, node=service.node(session, node), worker="w", hardware="cpu",
                versions={}, now=self.grader.now,
            )  # fmt: skip

    def state(self, public_id: str) -> SubmissionState:
        with self.database.read() as session:
            return session.scalars(select(Submission).where(Submission.public_id == public_id)).one().state

    def node(self, name: str) -> Node:
        with self.database.read() as session:
            return service.node(session, name)


@pytest.fixture
def fleet(database: Database, grader: Any, submit: Submit) -> Fleet:
    found = Fleet(database, grader, submit)
    found.add("node-2")
    return found


@pytest.fixture
def other(database: Database, world: Any) -> int:
    """The id of a second assignment, with the first one's content."""
    with database.begin() as session:
        first = session.scalars(select(Assignment)).one()
        row = Assignment(course_id=first.course_id, track="kernels", slug="other")
        session.add(row)
        session.flush()
        return row.id


def test_a_node_that_fails_with_everything_is_stopped_until_staff_lift_it(
    database: Database, grader: Any, fleet: Fleet, other: int, submit: Submit
) -> None:
    fleet.grade("ann", "node-1", Verdict.GRADER_ERROR)
    assert grader.sweep().quarantined == 0  # Three failures, of one student with one assignment.
    fleet.grade("bob", "node-1", Verdict.GRADER_ERROR, other)
    assert grader.sweep().quarantined == 1
    node = fleet.node("node-1")
    assert node.state is NodeState.QUARANTINED
    assert node.quarantine == {
        "failures": 6, "students": 2, "nodes": ["node-1"], "assignments": ["kernels/double", "kernels/other"],
        "since": grader.now.isoformat(),
    }  # fmt: skip
    assert grader.sweep().quarantined == 0
    with database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "node.quarantine")).all()
        assert [entry.subject for entry in entries] == ["node-1"]
        assert {row.quarantined for row in session.scalars(select(Assignment))} == {None}
    waiting = submit("ann", now=grader.now)
    fleet.beat("node-1")
    assert grader.dispatch() == []
    with database.begin() as session:
        by = session.get_one(User, grader.world.ta.id)
        service.set_node_state(
            session, service.node(session, "node-1"), NodeState.ACTIVE, by=by, now=grader.now
        )
    assert [spec.submission for spec in grader.dispatch()] == [waiting]
    assert grader.sweep().quarantined == 0  # What it was quarantined for counts no more.
    assert fleet.node("node-1").quarantine is None


def test_an_assignment_that_fails_everywhere_is_held_back_until_staff_lift_it(
    database: Database, grader: Any, fleet: Fleet, other: int, submit: Submit
) -> None:
    broken = [
        fleet.grade("ann", "node-1", Verdict.ASSIGNMENT_ERROR, other),
        fleet.grade("bob", "node-2", Verdict.GRADER_ERROR, other),
    ]
    fine = fleet.grade("ann", "node-2", Verdict.WRONG_ANSWER)  # The student's fault is nobody else's.
    assert grader.sweep().quarantined == 1
    assert {fleet.node(name).state for name in ("node-1", "node-2")} == {NodeState.ACTIVE}
    with database.read() as session:
        row = session.get_one(Assignment, other)
        assert row.quarantined == grader.now
        assert row.quarantine is not None
        assert row.quarantine["nodes"] == ["node-1", "node-2"]
    with database.begin() as session:
        by = session.get_one(User, grader.world.ta.id)
        row = session.get_one(Assignment, other)
        service.lift(session, row, by=by, now=grader.now)
        assert service.rejudge(session, row, by=by, errors_only=True, now=grader.now) == 2
    assert grader.sweep().quarantined == 0
    assert {fleet.state(name) for name in broken} == {SubmissionState.QUEUED}
    assert fleet.state(fine) is SubmissionState.DONE


def test_those_who_agree_on_poison_hold_nobody_else_up(
    database: Database, grader: Any, fleet: Fleet, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    (carol,) = students(1)
    for login, node in (("ann", "node-1"), ("bob", "node-2")):
        fleet.grade(login, node, Verdict.GRADER_ERROR)
    assert grader.sweep().quarantined == 1
    poison = submit("ann", now=grader.now)
    honest, later = (submit(carol, now=grader.now) for _ in range(2))
    fleet.beat("node-1")
    assert grader.dispatch() == []
    grader.sweep()
    assert fleet.state(honest) is SubmissionState.DISPATCHED, "nobody else has failed with it: it is tried"
    grader.sweep()
    assert {fleet.state(name) for name in (poison, later)} == {SubmissionState.QUEUED}, "one at a time"
    fleet.finish(honest, "node-1", Verdict.WRONG_ANSWER)
    grader.sweep()
    with database.read() as session:
        assert session.scalars(select(Assignment)).one().quarantined is None
        (entry,) = session.scalars(select(AuditEntry).where(AuditEntry.action == "assignment.clear"))
        assert entry.details["failures"] == 6
    assert fleet.state(later) is SubmissionState.QUEUED
    fleet.beat("node-1")
    assert {spec.submission for spec in grader.dispatch()} == {poison, later}
    fleet.finish(later, "node-1", Verdict.ACCEPTED)
    for _ in range(2):
        fleet.finish(poison, "node-1", Verdict.GRADER_ERROR)
        fleet.beat("node-1")
        grader.dispatch()
    fleet.grade("bob", "node-2", Verdict.GRADER_ERROR)
    assert grader.sweep().quarantined == 0, "the same two again are no witnesses any more"


def test_an_assignment_at_fault_stays_in_quarantine_whoever_it_is_tried_on(
    database: Database, grader: Any, fleet: Fleet, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    for login, node in (("ann", "node-1"), ("bob", "node-2"), ("ann", "node-2")):
        fleet.grade(login, node, Verdict.ASSIGNMENT_ERROR)
    assert grader.sweep().quarantined == 1
    waiting = [submit(login, now=grader.now) for login in (*students(1), "bob")]
    fleet.beat("node-1")
    grader.sweep()
    fleet.finish(waiting[0], "node-1", Verdict.ASSIGNMENT_ERROR)
    for _ in range(2):
        fleet.beat("node-1")
        grader.sweep()
    ended, untried = (fleet.state(name) for name in waiting)
    assert (ended.is_final, untried) == (True, SubmissionState.QUEUED)
    with database.read() as session:
        assert session.scalars(select(Assignment)).one().quarantined is not None


def _stop_node(grader: Any, fleet: Fleet, other: int) -> None:
    """Two students bring node-1 into quarantine."""
    fleet.grade("ann", "node-1", Verdict.GRADER_ERROR)
    fleet.grade("bob", "node-1", Verdict.GRADER_ERROR, other)
    assert grader.sweep().quarantined == 1
    assert fleet.node("node-1").state is NodeState.QUARANTINED


def _tried(jobs: list[Job]) -> list[str]:
    """Submissions that were sent to a node in quarantine since the last look; nothing else was sent."""
    assert "run" not in {job.name for job in jobs}
    found = [json.loads(job.arguments["spec"])["submission"] for job in jobs if job.name == "try"]
    jobs.clear()
    return found


def test_those_who_agree_on_poison_stop_a_node_no_longer_than_for_one_grading(
    database: Database, grader: Any, fleet: Fleet, other: int, submit: Submit, jobs: list[Job],
    students: Callable[[int], list[str]],
) -> None:  # fmt: skip
    (carol,) = students(1)
    _stop_node(grader, fleet, other)
    poison = submit("ann", now=grader.now)
    jobs.clear()
    fleet.beat("node-1")
    grader.sweep()
    assert _tried(jobs) == [], "it is not tried with those who failed there"
    honest, later = (submit(carol, now=grader.now) for _ in range(2))
    grader.sweep()
    (job,) = [job for job in jobs if job.name == "try"]
    assert job.arguments["token_digest"] == fleet.node("node-1").token_digest
    assert _tried(jobs) == [honest]
    grader.sweep()
    assert (_tried(jobs), grader.dispatch()) == ([], []), "one at a time"
    fleet.finish(honest, "node-1", Verdict.WRONG_ANSWER)
    grader.sweep()
    node = fleet.node("node-1")
    assert (node.state, node.quarantine) == (NodeState.ACTIVE, None)
    with database.read() as session:
        (entry,) = session.scalars(select(AuditEntry).where(AuditEntry.action == "node.clear"))
        assert (entry.subject, entry.details["failures"]) == ("node-1", 6)
    fleet.beat("node-1")
    assert {spec.submission for spec in grader.dispatch()} == {poison, later}
    assert grader.sweep().quarantined == 0, "what was before counts no more"


def test_a_broken_node_stays_in_quarantine_and_costs_few_students_one_attempt(
    grader: Any, fleet: Fleet, other: int, submit: Submit, jobs: list[Job],
    students: Callable[[int], list[str]],
) -> None:  # fmt: skip
    _stop_node(grader, fleet, other)
    first, second = (submit(login, now=grader.now) for login in students(2))
    fleet.beat("node-1")
    jobs.clear()
    grader.sweep()
    assert _tried(jobs) == [first]
    fleet.finish(first, "node-1", Verdict.GRADER_ERROR)
    assert fleet.state(first) is SubmissionState.QUEUED
    for _ in range(3):
        fleet.beat("node-1")
        grader.sweep()
        assert _tried(jobs) == [], "not again at once"
    grader.wait(TRIAL_PAUSE.total_seconds() + 1)
    fleet.beat("node-1")
    grader.sweep()
    assert _tried(jobs) == [second], "and never with what has failed once"
    fleet.finish(second, "node-1", Verdict.GRADER_ERROR)
    grader.wait(TRIAL_PAUSE.total_seconds() + 1)
    fleet.beat("node-1")
    grader.sweep()
    assert _tried(jobs) == []
    assert fleet.node("node-1").state is NodeState.QUARANTINED
    fleet.beat("node-2")
    assert {spec.submission for spec in grader.dispatch()} == {first, second}, "another node grades them"


def test_a_trial_that_its_node_does_not_take_is_everybodys(
    grader: Any, fleet: Fleet, other: int, submit: Submit, jobs: list[Job],
    students: Callable[[int], list[str]],
) -> None:  # fmt: skip
    _stop_node(grader, fleet, other)
    waiting = submit(students(1)[0], now=grader.now)
    fleet.beat("node-1")
    grader.sweep()
    grader.wait(grader.settings.pickup_seconds + 1)
    fleet.beat("node-2")
    jobs.clear()
    assert grader.sweep().republished == 1
    assert [job.name for job in jobs if job.name in ("run", "try")] == ["run"]
    with pytest.raises(NodeStopped):
        fleet.finish(waiting, "node-1", Verdict.ACCEPTED)
    fleet.finish(waiting, "node-2", Verdict.ACCEPTED)
    assert fleet.node("node-1").state is NodeState.QUARANTINED


def test_a_node_that_staff_stop_is_not_tried(
    database: Database, grader: Any, fleet: Fleet, submit: Submit, jobs: list[Job]
) -> None:
    with database.begin() as session:
        by = session.get_one(User, grader.world.ta.id)
        row = service.node(session, "node-1")
        service.set_node_state(session, row, NodeState.QUARANTINED, by=by, now=grader.now)
    submit("ann", now=grader.now)
    fleet.beat("node-1")
    jobs.clear()
    grader.sweep()
    assert _tried(jobs) == []


def test_a_noisy_machine_is_no_failure_and_old_failures_are_forgotten(
    grader: Any, fleet: Fleet, other: int
) -> None:
    for login, assignment in (("ann", None), ("bob", other)):
        fleet.grade(login, "node-1", Verdict.UNSTABLE_TIMING, assignment)
    assert grader.sweep().quarantined == 0
    fleet.grade("ann", "node-1", Verdict.GRADER_ERROR)
    grader.wait(WINDOW.total_seconds())
    fleet.grade("bob", "node-1", Verdict.ASSIGNMENT_ERROR, other)
    assert grader.sweep().quarantined == 0


def _lose(grader: Any, fleet: Fleet, login: str, assignment: int | None, *, times: int, back: bool) -> None:
    """A job takes its worker along; it comes `back`, or its node is gone."""
    public_id = fleet.submit(login, now=grader.now)
    if assignment is not None:
        with fleet.database.begin() as session:
            session.execute(
                update(Submission)
                .where(Submission.public_id == public_id)
                .values(assignment_id=assignment, number=Submission.id + 1000)
            )
    for _ in range(times):
        grader.wait(1)
        fleet.beat("node-1")
        (spec,) = [spec for spec in grader.dispatch() if spec.submission == public_id]
        with fleet.database.begin() as session:
            row = service.node(session, "node-1")
            service.claim(session, grader.settings, token=spec.token, node=row, worker="w", now=grader.now)
        grader.wait(grader.settings.lease_seconds - 5)
        if back:
            fleet.beat("node-1")
        grader.wait(6)
        assert grader.sweep().requeued == 1
    with fleet.database.begin() as session:
        found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
        service.cancel(session, found, by=found.user, now=grader.now)


@pytest.mark.parametrize("back", [True, False])
def test_jobs_that_kill_their_worker_count_and_machines_that_were_switched_off_do_not(
    grader: Any, fleet: Fleet, other: int, back: bool
) -> None:
    _lose(grader, fleet, "ann", None, times=2, back=back)
    _lose(grader, fleet, "bob", other, times=1, back=back)
    expected = NodeState.QUARANTINED if back else NodeState.ACTIVE
    assert fleet.node("node-1").state is expected


def test_staff_see_it_and_lift_it_over_http(
    client: httpx.Client, token: Any, database: Database, grader: Any, fleet: Fleet, other: int
) -> None:
    for login, node in (("ann", "node-1"), ("bob", "node-2"), ("ann", "node-2")):
        fleet.grade(login, node, Verdict.ASSIGNMENT_ERROR, other)
    grader.sweep()
    address = "/api/v1/courses/demo/quarantine"
    staff, student = token("ta"), token("ann", "read", "submit")
    assert client.get(address, headers=student).status_code == 403
    (item,) = client.get(address, headers=staff).json()["items"]
    assert item["assignment"] == "kernels/other"
    assert item["evidence"]["failures"] == 3
    one = "/api/v1/courses/demo/assignments/kernels/other"
    assert client.delete(f"{one}/quarantine", headers=student).status_code == 403
    assert client.delete(f"{one}/quarantine", headers=staff).status_code == 204
    assert client.get(address, headers=staff).json()["items"] == []
    answer = client.post(f"{one}/rejudge", headers=student, json={})
    assert answer.status_code == 403
    answer = client.post(f"{one}/rejudge", headers=staff, json={"errors_only": True})
    assert (answer.status_code, answer.json()) == (202, {"submissions": 3})
    with database.read() as session:
        audit = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    done = [(entry.action, entry.actor_id) for entry in audit if entry.subject == "kernels/other"]
    by = grader.world.ta.id
    assert done == [("assignment.quarantine", None), ("assignment.lift", by), ("assignment.rejudge", by)]
