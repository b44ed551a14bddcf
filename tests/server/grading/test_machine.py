"""Whatever people, workers and the clock do: states change as the tables say, and nothing is lost.

The machine plays students, staff and workers on the services of both databases. What must hold is worked out
from the tables of transitions and from what the machine itself did and was told, not from the server's
counters.
"""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete, select

from grader.contract import FailureClass, JobSpec, Mode, Reason, Verdict
from server.db.models import Attempt, DeviceUsage, Node, Report, Score, Submission, User, Worker
from server.db.models.node import NodeState
from server.db.session import Database
from server.errors import DomainError, NodeStopped, StaleAttempt, TooManyQueued, WrongState
from server.grading import service
from server.grading.states import (
    ACTIVE,
    ATTEMPT_TRANSITIONS,
    OPEN,
    SUBMISSION_TRANSITIONS,
    AttemptState,
    SubmissionState,
)
from server.submissions import service as submissions

SUBMISSION_STEPS = {(state, target) for (state, _), target in SUBMISSION_TRANSITIONS.items()}
ATTEMPT_STEPS = {(state, target) for (state, _), target in ATTEMPT_TRANSITIONS.items()}
VERDICTS = (
    Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.FASTER_THAN_LIGHT, Verdict.UNSTABLE_TIMING,
    Verdict.GRADER_ERROR, Verdict.ASSIGNMENT_ERROR,
)  # fmt: skip
PEOPLE = ("ann", "bob")
WORKERS = ("w1", "w2", "w3")
_COSTS = {FailureClass.NONE, FailureClass.STUDENT}


class Life(RuleBasedStateMachine):
    """The life of a course with two students, a node and three workers."""

    def __init__(self, database: Database, grader: Any, submit: Callable[..., str]) -> None:
        super().__init__()
        self.database, self.grader, self._submit = database, grader, submit
        with database.begin() as session:
            for table in (Submission, DeviceUsage, Worker):
                session.execute(delete(table))
            session.get_one(Node, grader.world.node.id).state = NodeState.ACTIVE
        self.specs: list[JobSpec] = []
        self.beats: dict[str, Any] = {}
        self.charged: dict[str, bool] = {}
        """By submission, whether a Report that counted cost its student a grading."""
        self.verdicts: dict[str, Verdict] = {}
        """By submission, the verdict of the last Report that counted."""
        self.stored: Counter[str] = Counter()
        self.before: dict[str, SubmissionState] = {}
        self.attempts_before: dict[int, AttemptState] = {}

    @rule(login=st.sampled_from(PEOPLE), mode=st.sampled_from([Mode.GRADE, Mode.GRADE, Mode.TEST]))
    def hand_in(self, login: str, mode: Mode) -> None:
        try:
            public_id = self._submit(login, now=self.grader.now, mode=mode)
        except TooManyQueued:
            return
        self.charged[public_id] = False

    @rule(worker=st.sampled_from(WORKERS))
    def beat(self, worker: str) -> None:
        self.grader.beat(worker=worker)
        self.beats[worker] = self.grader.now

    @rule()
    def dispatch(self) -> None:
        live = self._live()
        running = self._count(Attempt.state == AttemptState.RUNNING)
        waiting = self._count(Attempt.state == AttemptState.PUBLISHED)
        found = self.grader.dispatch()
        self.specs += found
        assert not found or live
        # One for each free worker and one more; of what runs, some may run on workers that are gone.
        assert len(found) <= max(0, live + 1 - waiting)
        assert len(found) <= max(0, len(PEOPLE) - running - waiting)

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def claim(self, data: st.DataObject, worker: str) -> None:
        spec = self._spec(data)
        attempt = self._attempt(spec)
        node_state = self._node_state()
        mine = attempt is not None and attempt.worker is not None and attempt.worker.name == worker
        try:
            self.grader.claim(spec, worker=worker)
        except NodeStopped:
            assert node_state is not NodeState.ACTIVE
        except StaleAttempt:
            assert attempt is None or attempt.state is not AttemptState.PUBLISHED
        else:
            self.beats.setdefault(worker, self.grader.now)
            assert attempt is not None
            assert attempt.state is AttemptState.PUBLISHED or (attempt.state in OPEN and mine)

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), verdict=st.sampled_from(VERDICTS), seconds=st.sampled_from([0.0, 3.0, 400.0]))
    def report(self, data: st.DataObject, verdict: Verdict, seconds: float) -> None:
        spec = self._spec(data)
        attempt = self._attempt(spec)
        known = attempt is not None and self._count(Report.attempt_id == attempt.id, what=Report) > 0
        stored = self.grader.send(self.grader.report(spec, verdict=verdict, seconds=seconds))
        if attempt is None:
            assert stored.outcome == "refused"
        elif known:
            assert stored.outcome == "duplicate"
        elif attempt.state not in OPEN:
            assert stored.outcome == "late"
        else:
            assert stored.outcome == "stored"
            self._applied(spec, verdict)

    @precondition(lambda self: self.specs)
    @rule(data=st.data())
    def garbage(self, data: st.DataObject) -> None:
        spec = self._spec(data)
        assert self.grader.send(f'{{"token": "{spec.token}", "half')

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def beat_with_job(self, data: st.DataObject, worker: str) -> None:
        spec = self._spec(data)
        attempt = self._attempt(spec)
        answer = self.grader.beat(worker=worker, token=spec.token)
        self.beats[worker] = self.grader.now
        if attempt is None or attempt.state not in OPEN:
            assert answer.cancelled

    @precondition(lambda self: self.specs)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        spec = self._spec(data)
        attempt = self._attempt(spec)
        try:
            with self.database.begin() as session:
                node = session.get_one(Node, self.grader.world.node.id)
                service.return_job(session, token=spec.token, node=node, now=self.grader.now)
        except StaleAttempt:
            assert attempt is None or attempt.state is not AttemptState.RUNNING

    @precondition(lambda self: self.charged)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self._act(
            data, lambda session, found, by: submissions.cancel(session, found, by=by, now=self.grader.now)
        )

    @precondition(lambda self: self.charged)
    @rule(data=st.data(), staff=st.booleans())
    def run_again(self, data: st.DataObject, staff: bool) -> None:
        self._act(
            data,
            lambda session, found, by: submissions.rerun(
                session, self.grader.settings, found, by=by, now=self.grader.now
            ),
            staff=staff,
        )

    @precondition(lambda self: self.charged)
    @rule(errors_only=st.booleans())
    def rejudge(self, errors_only: bool) -> None:
        wanted = {SubmissionState.GRADER_ERROR} | (set() if errors_only else {SubmissionState.DONE})
        expected = sum(state in wanted for state in self._states().values())
        with self.database.begin() as session:
            row = session.scalars(select(Submission).limit(1)).first()
            assert row is not None
            by = session.get_one(User, self.grader.world.ta.id)
            found = service.rejudge(
                session, row.assignment, by=by, errors_only=errors_only, now=self.grader.now
            )
        assert found == expected

    @rule(seconds=st.sampled_from([1.0, 20.0, 61.0, 1000.0, 8000.0]))
    def wait(self, seconds: float) -> None:
        self.grader.wait(seconds)

    @rule()
    def sweep(self) -> None:
        self.grader.sweep()

    @rule(state=st.sampled_from([NodeState.ACTIVE, NodeState.ACTIVE, NodeState.PAUSED, NodeState.SET_ASIDE]))
    def control(self, state: NodeState) -> None:
        with self.database.begin() as session:
            node = session.get_one(Node, self.grader.world.node.id)
            by = session.get_one(User, self.grader.world.ta.id)
            service.set_node_state(session, node, state, by=by, now=self.grader.now)
        if state is NodeState.SET_ASIDE:
            assert self._count(Attempt.state == AttemptState.RUNNING) == 0

    @invariant()
    def states_change_as_the_tables_say(self) -> None:
        now = self._states()
        assert set(now) == set(self.charged)  # None was lost, none came from nowhere.
        for public_id, state in now.items():
            old = self.before.get(public_id)
            assert old in (None, state) or (old, state) in SUBMISSION_STEPS, (old, state)
            assert old is not None or state is SubmissionState.QUEUED
        self.before = now
        with self.database.read() as session:
            rows = session.scalars(select(Attempt).order_by(Attempt.id)).all()
        for row in rows:
            before = self.attempts_before.get(row.id)
            assert before in (None, row.state) or (before, row.state) in ATTEMPT_STEPS, (before, row.state)
        self.attempts_before = {row.id: row.state for row in rows}

    @invariant()
    def an_attempt_is_open_exactly_while_its_submission_is_under_way(self) -> None:
        with self.database.read() as session:
            found = session.scalars(select(Submission)).all()
            rows = session.scalars(select(Attempt)).all()
        owners = {row.id: row for row in found}
        pairs = {(owners[row.submission_id].state, row.state) for row in rows if row.state in OPEN}
        assert pairs <= {
            (SubmissionState.DISPATCHED, AttemptState.PUBLISHED),
            (SubmissionState.RUNNING, AttemptState.RUNNING),
        }
        for row in found:
            own = sorted((one for one in rows if one.submission_id == row.id), key=lambda one: one.number)
            assert [one.number for one in own] == list(range(1, len(own) + 1))
            assert sum(one.state in OPEN for one in own) == int(row.state in ACTIVE)
            assert row.failed_attempts <= self.grader.settings.max_attempts
        assert len({row.token for row in rows}) == len(rows)
        active = Counter(row.user_id for row in found if row.state in ACTIVE)
        assert all(number == 1 for number in active.values())

    @invariant()
    def what_counts_is_what_was_stored_last(self) -> None:
        with self.database.read() as session:
            found = session.scalars(select(Submission)).all()
            current = Counter(session.scalars(select(Report.submission_id).where(Report.current)))
            scores = Counter(session.scalars(select(Score.submission_id).where(Score.current)))
        for row in found:
            assert current[row.id] <= 1
            assert scores[row.id] <= 1
            assert row.charged_attempt == self.charged[row.public_id], row.public_id
            if row.state is SubmissionState.DONE:
                assert row.verdict is self.verdicts[row.public_id]
                assert current[row.id] == 1
                graded = row.verdict is Verdict.ACCEPTED and row.mode is Mode.GRADE
                assert scores[row.id] == int(graded)

    def teardown(self) -> None:
        """Once workers do their work, everything ends."""
        with self.database.begin() as session:
            session.get_one(Node, self.grader.world.node.id).state = NodeState.ACTIVE
        for _ in range(5 * len(self.charged) + 5):
            if all(state.is_final for state in self._states().values()):
                return
            self.grader.wait(self.grader.settings.lease_seconds + 1)
            self.grader.sweep()
            for worker in WORKERS:
                self.grader.beat(worker=worker)
            for spec, worker in zip(self.grader.dispatch(), WORKERS, strict=False):
                self.grader.claim(spec, worker=worker)
                assert self.grader.send(self.grader.report(spec)).outcome == "stored"
        raise AssertionError(f"stuck: {self._states()}")

    def _applied(self, spec: JobSpec, verdict: Verdict) -> None:
        """What a Report that counts means, by the rules of the course."""
        kind = verdict.failure_class
        if kind in (FailureClass.INFRASTRUCTURE, FailureClass.ASSIGNMENT):
            return
        self.verdicts[spec.submission] = verdict
        if spec.reason is Reason.SUBMIT:
            self.charged[spec.submission] = kind in _COSTS and spec.mode is Mode.GRADE

    def _act(self, data: st.DataObject, act: Callable[..., None], *, staff: bool = False) -> None:
        public_id = data.draw(st.sampled_from(sorted(self.charged)))
        state = self._states()[public_id]
        try:
            with self.database.begin() as session:
                owner = (
                    session.scalars(select(Submission).where(Submission.public_id == public_id)).one().user
                )
                by = session.get_one(User, self.grader.world.ta.id) if staff else owner
                act(session, submissions.get(session, public_id, by), by)
        except WrongState:
            assert self._states()[public_id] is state
        except DomainError:
            assert not staff

    def _spec(self, data: st.DataObject) -> JobSpec:
        return data.draw(st.sampled_from(self.specs[::-1][:6]))

    def _attempt(self, spec: JobSpec) -> Attempt | None:
        with self.database.read() as session:
            row = session.scalar(select(Attempt).where(Attempt.token == spec.token))
            if row is not None and row.worker is not None:
                assert row.worker.name
            return row

    def _node_state(self) -> NodeState:
        with self.database.read() as session:
            return session.get_one(Node, self.grader.world.node.id).state

    def _states(self) -> dict[str, SubmissionState]:
        with self.database.read() as session:
            rows = session.execute(select(Submission.public_id, Submission.state)).all()
        return {row.public_id: row.state for row in rows}

    def _count(self, *conditions: Any, what: Any = Attempt) -> int:
        with self.database.read() as session:
            return len(session.scalars(select(what).where(*conditions)).all())

    def _live(self) -> int:
        if self._node_state() is not NodeState.ACTIVE:
            return 0
        silent = self.grader.settings.worker_silent_seconds
        return sum((self.grader.now - beaten).total_seconds() <= silent for beaten in self.beats.values())


@pytest.mark.timeout(900)
def test_any_order_of_events(database: Database, grader: Any, submit: Callable[..., str]) -> None:
    run_state_machine_as_test(
        lambda: Life(database, grader, submit),  # type: ignore[arg-type]
        settings=settings(
            max_examples=int(os.environ.get("LIFE_EXAMPLES", "6")),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
