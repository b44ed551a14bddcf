"""The life of a submission between dispatcher, worker and sweeper, on both databases."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from grader import contract
from grader.contract import VERSION, JobSpec, Reason, Verdict
from server.courses import service as courses
from server.db.models import (
    AssignmentVersion,
    Attempt,
    AuditEntry,
    CaseResult,
    Node,
    Report,
    Score,
    Submission,
)
from server.db.models.node import NodeState
from server.db.session import Database, Job
from server.errors import StaleAttempt, WrongState
from server.grading import service
from server.grading.queue_queries import REJUDGE_AGED
from server.grading.states import AttemptState, SubmissionState
from server.submissions import service as submissions

Submit = Callable[..., str]


def _state(database: Database, public_id: str) -> SubmissionState:
    with database.read() as session:
        found = session.scalar(select(Submission.state).where(Submission.public_id == public_id))
        assert found is not None
        return found


def _get(database: Database, public_id: str) -> Submission:
    with database.read() as session:
        return session.scalars(select(Submission).where(Submission.public_id == public_id)).one()


def _count(database: Database, what: type[Any], *conditions: Any) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(what).where(*conditions)) or 0


def _attempt_states(database: Database) -> list[AttemptState]:
    with database.read() as session:
        return list(session.scalars(select(Attempt.state).order_by(Attempt.id)))


def test_from_queue_to_score(database: Database, grader: Any, submit: Submit, jobs: list[Job]) -> None:
    public_id = submit()
    assert grader.dispatch() == []  # No worker is alive.
    grader.beat()
    (spec,) = grader.dispatch()
    assert (spec.submission, spec.attempt, spec.target.hardware) == (public_id, 1, "cpu")
    run = next(job for job in jobs if job.name == "run")
    assert run.arguments["hardware"] == "cpu"
    assert contract.read(JobSpec, run.arguments["spec"]) == spec
    assert _state(database, public_id) is SubmissionState.DISPATCHED
    grader.claim(spec)
    assert _state(database, public_id) is SubmissionState.RUNNING
    stored = grader.send(grader.report(spec))
    assert (stored.outcome, stored.submission) == ("stored", public_id)
    found = _get(database, public_id)
    assert (found.state, found.verdict, found.points) == (SubmissionState.DONE, Verdict.ACCEPTED, 70.0)
    assert found.charged_attempt
    assert found.charged_seconds == 4.0
    with database.read() as session:
        score = session.scalars(select(Score)).one()
        assert (score.low, score.fraction, score.high, score.ranked) == (0.49, 0.5, 0.51, True)
        kinds = session.execute(select(CaseResult.kind, CaseResult.case).order_by(CaseResult.kind)).all()
        assert [tuple(row) for row in kinds] == [("hidden", "secret"), ("public", "tiny"), ("timed", "large")]
    assert Job("changed", {"submission": public_id}) in jobs


def test_a_report_counts_once(database: Database, grader: Any, submit: Submit) -> None:
    submit()
    spec = grader.grade()
    for _ in range(3):
        assert grader.send(grader.report(spec)).outcome == "duplicate"
    assert grader.send(grader.report(spec, verdict=Verdict.WRONG_ANSWER)).outcome == "duplicate"
    assert _count(database, Report) == _count(database, Score) == 1


def test_simultaneous_reports_count_once(database: Database, grader: Any, submit: Submit) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: grader.send(grader.report(spec)).outcome, range(8)))
    assert sorted(outcomes) == ["duplicate"] * 7 + ["stored"]
    assert _count(database, Score) == 1
    assert _state(database, public_id) is SubmissionState.DONE


def test_a_worker_that_dies_costs_three_attempts_and_the_student_nothing(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    specs = []
    for number in (1, 2, 3):
        grader.beat()
        (spec,) = grader.dispatch()
        assert spec.attempt == number
        grader.claim(spec)
        specs.append(spec)
        assert grader.sweep() == service.Sweep()  # Nothing is late yet.
        grader.wait(grader.settings.lease_seconds + 1)
        swept = grader.sweep()
        assert (swept.requeued, swept.given_up) == ((1, 0) if number < 3 else (0, 1))
    found = _get(database, public_id)
    assert (found.state, found.verdict) == (SubmissionState.GRADER_ERROR, Verdict.GRADER_ERROR)
    assert not found.charged_attempt
    assert found.charged_seconds == 0.0
    assert _count(database, AuditEntry, AuditEntry.action == "submission.grader_error") == 1
    assert len({spec.token for spec in specs}) == 3
    # The lost worker comes back after all: kept, and nothing changes.
    assert grader.send(grader.report(specs[0])).outcome == "late"
    assert grader.send(grader.report(specs[0])).outcome == "duplicate"
    assert _get(database, public_id).verdict is Verdict.GRADER_ERROR
    assert _count(database, Report, Report.current) == 0
    assert _count(database, Score) == 0


def test_heartbeats_keep_a_lease_until_the_deadline(database: Database, grader: Any, submit: Submit) -> None:
    submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    for _ in range(int(grader.settings.job_seconds // 50)):
        grader.wait(50)
        assert not grader.beat(token=spec.token).cancelled
        assert grader.sweep() == service.Sweep()
    grader.wait(50)  # Ten seconds are left, and the lease is no longer than that.
    assert not grader.beat(token=spec.token).cancelled
    grader.wait(11)
    assert grader.beat(token=spec.token).cancelled
    assert grader.sweep().requeued == 1


def test_a_job_is_claimed_by_one_worker(database: Database, grader: Any, submit: Submit) -> None:
    submit()
    grader.beat()
    grader.beat(worker="w2")
    (spec,) = grader.dispatch()
    assert not grader.beat(token=spec.token).cancelled
    grader.claim(spec)
    grader.claim(spec)  # The same message again, at the same worker.
    with pytest.raises(StaleAttempt):
        grader.claim(spec, worker="w2")
    assert grader.beat(worker="w2", token=spec.token).cancelled
    assert grader.send(grader.report(spec)).outcome == "stored"
    with pytest.raises(StaleAttempt):
        grader.claim(spec)


def test_a_message_that_got_lost_is_published_again_under_the_same_token(
    database: Database, grader: Any, submit: Submit, jobs: list[Job]
) -> None:
    submit()
    grader.beat()
    (spec,) = grader.dispatch()
    jobs.clear()
    grader.wait(grader.settings.pickup_seconds + 1)
    grader.beat()
    assert grader.sweep().republished == 1
    (job,) = [job for job in jobs if job.name == "run"]
    again = contract.read(JobSpec, job.arguments["spec"])
    assert (again.token, again.attempt) == (spec.token, 1)
    assert again.deadline > spec.deadline


def test_a_message_behind_a_busy_worker_waits(database: Database, grader: Any, submit: Submit) -> None:
    submit("ann")
    submit("bob")
    grader.beat()
    first, _ = grader.dispatch()  # One free worker and one more.
    grader.claim(first)
    grader.wait(grader.settings.pickup_seconds + 1)
    grader.beat(token=first.token)
    with database.begin() as session:  # Keep the running one alive.
        attempt = session.scalars(select(Attempt).where(Attempt.token == first.token)).one()
        attempt.lease_until = attempt.deadline
    assert grader.sweep() == service.Sweep()
    assert _attempt_states(database) == [AttemptState.RUNNING, AttemptState.PUBLISHED]


def test_without_live_workers_a_published_job_returns_to_the_queue(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.wait(grader.settings.pickup_seconds + 1)
    assert grader.sweep().requeued == 1
    assert _get(database, public_id).failed_attempts == 0
    with pytest.raises(StaleAttempt):
        grader.claim(spec)
    grader.beat()
    assert grader.dispatch()[0].attempt == 2


def test_a_job_given_back_costs_nothing(database: Database, grader: Any, submit: Submit) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    with database.begin() as session:
        node = session.get_one(Node, grader.world.node.id)
        service.return_job(session, token=spec.token, node=node, now=grader.now)
    found = _get(database, public_id)
    assert (found.state, found.failed_attempts) == (SubmissionState.QUEUED, 0)
    assert grader.send(grader.report(spec)).outcome == "late"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(f'"version":{VERSION}', f'"version":{VERSION + 1}'),
        lambda text: text.replace('"seconds":4.0', '"seconds":NaN', 1),
        lambda text: text.replace('"mode":"grade"', '"mode":"guess"'),
        lambda text: text[:-1] + ',"padding":"' + "x" * contract.REPORT_BYTES + '"}',
        lambda text: text.encode() + b"\xff\x00",
    ],
    ids=["cut", "version", "nan", "value", "large", "bytes"],
)
def test_a_report_that_cannot_be_read_is_a_failure_of_infrastructure(
    database: Database, grader: Any, submit: Submit, damage: Callable[[str], str | bytes]
) -> None:
    public_id = submit()
    grader.beat()
    for attempt in (1, 2, 3):
        (spec,) = grader.dispatch()
        assert spec.attempt == attempt
        grader.claim(spec)
        text = grader.report(spec).model_dump_json()
        # The token comes first, as a worker may write it, so that half of the text still names its attempt.
        text = f'{{"token":"{spec.token}",' + text[1:].replace(f'"token":"{spec.token}",', "", 1)
        assert grader.send(damage(text)).outcome == "refused"
    found = _get(database, public_id)
    assert (found.state, found.charged_attempt) == (SubmissionState.GRADER_ERROR, False)
    assert found.message is not None
    assert found.message["code"] == "report_unreadable"
    assert _count(database, Report, Report.fault != "") == 3


@pytest.mark.parametrize("raw", [b"", b"{}", b"[" * 100_000, b'{"token": "' + b"A" * 43 + b'"}'])
def test_a_report_of_nobody_changes_nothing(
    database: Database, grader: Any, submit: Submit, raw: bytes
) -> None:
    public_id = submit()
    assert grader.send(raw).outcome == "refused"
    assert _state(database, public_id) is SubmissionState.QUEUED


def test_a_report_about_something_else_is_refused(database: Database, grader: Any, submit: Submit) -> None:
    submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    stored = grader.send(grader.report(spec, bundle="0" * 64))
    assert stored.outcome == "refused"
    assert "bundle" in stored.text
    assert _count(database, Score) == 0


def test_text_that_postgresql_cannot_hold_is_stored_all_the_same(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.grade(
        verdict=Verdict.RUNTIME_ERROR, message=contract.Text(code="x", en="NUL \0 and \U0001f600", zh="\0")
    )
    found = _get(database, public_id)
    assert found.message == {"code": "x", "en": "NUL � and \U0001f600", "zh": "�"}
    with database.read() as session:
        report = submissions.report(session, found, staff=True)
    assert report is not None
    assert report.message.en == "NUL \0 and \U0001f600"


@pytest.mark.parametrize(
    ("verdict", "state", "charged", "attempts"),
    [
        (Verdict.ACCEPTED, SubmissionState.DONE, True, 1),
        (Verdict.WRONG_ANSWER, SubmissionState.DONE, True, 1),
        (Verdict.FASTER_THAN_LIGHT, SubmissionState.DONE, False, 1),
        (Verdict.ASSIGNMENT_ERROR, SubmissionState.GRADER_ERROR, False, 1),
        (Verdict.UNSTABLE_TIMING, SubmissionState.GRADER_ERROR, False, 3),
    ],
)
def test_who_pays_for_a_verdict(
    database: Database,
    grader: Any,
    submit: Submit,
    verdict: Verdict,
    state: SubmissionState,
    charged: bool,
    attempts: int,
) -> None:
    public_id = submit()
    for _ in range(attempts):
        assert not _get(database, public_id).state.is_final
        grader.grade(verdict=verdict)
    found = _get(database, public_id)
    assert (found.state, found.verdict, found.charged_attempt) == (state, verdict, charged)
    assert (found.charged_seconds > 0) is charged
    assert _count(database, Report, Report.current) == 1
    assert _count(database, Score, Score.current, Score.ranked) == int(verdict is Verdict.ACCEPTED)


@pytest.mark.parametrize("again", ["author", "staff", "rejudge"])
def test_what_is_run_again_has_all_its_attempts_again(
    database: Database, grader: Any, submit: Submit, again: str
) -> None:
    public_id = submit()
    for _ in range(3):
        grader.grade(verdict=Verdict.GRADER_ERROR)
    assert _state(database, public_id) is SubmissionState.GRADER_ERROR
    by = grader.world.ann if again == "author" else grader.world.ta
    with database.begin() as session:
        found = submissions.get(session, public_id, by)
        if again == "rejudge":
            assert service.rejudge(session, found.assignment, by=by, errors_only=True, now=grader.now) == 1
        else:
            submissions.rerun(session, grader.settings, found, by=by, now=grader.now)
    for number in (4, 5, 6):
        assert _state(database, public_id) is SubmissionState.QUEUED
        assert grader.grade(verdict=Verdict.GRADER_ERROR).attempt == number
    assert _state(database, public_id) is SubmissionState.GRADER_ERROR
    assert not _get(database, public_id).charged_attempt


def test_cancel_stops_a_running_job(database: Database, grader: Any, submit: Submit, jobs: list[Job]) -> None:
    public_id = submit()
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ann)
        submissions.cancel(session, found, by=grader.world.ann, now=grader.now)
    (job,) = [job for job in jobs if job.name == "cancel"]
    assert job.arguments["token"] == spec.token
    assert grader.beat(token=spec.token).cancelled
    assert grader.send(grader.report(spec)).outcome == "late"
    assert _state(database, public_id) is SubmissionState.CANCELLED
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ann)
        with pytest.raises(WrongState):
            submissions.cancel(session, found, by=grader.world.ann)


def test_a_rejudge_keeps_the_old_result_until_the_new_one_and_costs_nothing(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit()
    grader.grade()
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ta)
        submissions.rerun(session, grader.settings, found, by=grader.world.ta, now=grader.now)
    assert _count(database, Score, Score.current) == 1
    assert _get(database, public_id).verdict is Verdict.ACCEPTED
    spec = grader.grade(verdict=Verdict.WRONG_ANSWER, seconds=9.0)
    assert (spec.attempt, spec.reason) == (2, Reason.REJUDGE)
    found = _get(database, public_id)
    assert (found.verdict, found.points, found.charged_seconds) == (Verdict.WRONG_ANSWER, None, 4.0)
    assert _count(database, Score, Score.current) == 0
    assert _count(database, Report) == 2


def test_dispatch_is_fair(database: Database, grader: Any, submit: Submit) -> None:
    anns = [submit("ann", now=grader.now) for _ in range(4)]
    grader.wait(1)
    bobs = [submit("bob", now=grader.now) for _ in range(2)]
    grader.beat()
    first = grader.dispatch()
    # One worker and one more: two jobs, of two teams.
    assert [spec.submission for spec in first] == [anns[0], bobs[0]]
    assert grader.dispatch() == []
    grader.claim(first[0])
    grader.send(grader.report(first[0], seconds=300.0))
    grader.claim(first[1])
    grader.send(grader.report(first[1], seconds=3.0))
    # Bob used less of the last hour.
    assert [spec.submission for spec in grader.dispatch()] == [bobs[1], anns[1]]


def test_rejudging_waits_for_people_but_not_for_ever(database: Database, grader: Any, submit: Submit) -> None:
    old = submit("ann")
    grader.grade()
    with database.begin() as session:
        found = submissions.get(session, old, grader.world.ta)
        submissions.rerun(session, grader.settings, found, by=grader.world.ta, now=grader.now)
    new = {submit("bob", now=grader.now), submit("ta", now=grader.now)}
    grader.beat()
    specs = grader.dispatch()
    assert {spec.submission for spec in specs} == new
    for spec in specs:
        grader.claim(spec)
        grader.send(grader.report(spec))
    grader.wait(REJUDGE_AGED.total_seconds() + 1)
    newer = {submit("bob", now=grader.now), submit("ta", now=grader.now)}
    grader.beat()
    chosen = {spec.submission for spec in grader.dispatch()}
    assert old in chosen
    assert len(chosen & newer) == 1


def test_two_dispatchers_at_once_do_not_open_two_attempts(
    database: Database, grader: Any, submit: Submit
) -> None:
    for login in ("ann", "bob", "ta"):
        submit(login)
    for worker in ("w1", "w2", "w3", "w4"):
        grader.beat(worker=worker)
    with ThreadPoolExecutor(4) as pool:
        specs = [spec for found in pool.map(lambda _: grader.dispatch(), range(8)) for spec in found]
    assert len(specs) == len({spec.submission for spec in specs}) == 3


@pytest.mark.parametrize("limits", [{"wall_seconds": 1e300}, {"wall_seconds": "long"}, None])
def test_an_assignment_that_cannot_be_dispatched_stops_nobody_else(
    database: Database, grader: Any, submit: Submit, changed_bundle: Any, blobs: Any, limits: Any
) -> None:
    bad = submit("ann")
    with database.begin() as session:
        version = session.scalars(select(AssignmentVersion)).one()
        manifest = json.loads(json.dumps(version.manifest))
        manifest["targets"][0]["limits"] = limits
        version.manifest = manifest
        course = courses.get_course(session, "demo")
        text = changed_bundle.manifest.model_dump_json()
        courses.publish_bundle(session, blobs, course, changed_bundle.archive, text, by=grader.world.admin)
    good = submit("bob")
    grader.beat()
    assert [spec.submission for spec in grader.dispatch()] == [good]
    found = _get(database, bad)
    assert (found.state, found.verdict) == (SubmissionState.GRADER_ERROR, Verdict.ASSIGNMENT_ERROR)
    assert found.message is not None
    assert found.message["code"] == "not_dispatched"
    assert not found.charged_attempt
    with database.read() as session:
        entry = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "submission.grader_error")
        ).one()
        assert "targets.0.limits" in entry.details["cause"]
    assert _attempt_states(database) == [AttemptState.PUBLISHED]


def test_a_sweep_goes_on_past_a_job_that_cannot_be_published_again(
    database: Database, grader: Any, submit: Submit
) -> None:
    public_id = submit("ann")
    grader.beat()
    grader.dispatch()
    with database.begin() as session:
        version = session.scalars(select(AssignmentVersion)).one()
        version.manifest = version.manifest | {"targets": []}
    grader.wait(grader.settings.pickup_seconds + 1)
    grader.beat()
    assert grader.sweep().given_up == 1
    assert _state(database, public_id) is SubmissionState.GRADER_ERROR
    assert _attempt_states(database) == [AttemptState.LOST]


def test_place_in_the_queue(database: Database, grader: Any, submit: Submit) -> None:
    ids = [submit("ann"), submit("bob"), submit("ta"), submit("ann")]

    def place(public_id: str) -> service.Place | None:
        with database.read() as session:
            found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            return service.place(session, grader.settings, found, now=grader.now)

    assert [place(public_id) for public_id in ids] == [
        service.Place(ahead, None, "no_worker") for ahead in range(4)
    ]
    grader.beat()
    assert place(ids[0]) == service.Place(0, 0.0)
    assert place(ids[3]) == service.Place(3, 180.0)
    grader.dispatch()
    assert place(ids[0]) is None


@pytest.mark.parametrize("state", [NodeState.PAUSED, NodeState.DRAINING, NodeState.SET_ASIDE])
def test_a_node_that_staff_stop_gets_no_more_jobs(
    database: Database, grader: Any, submit: Submit, state: NodeState
) -> None:
    submit()
    grader.beat()
    with database.begin() as session:
        node = session.get_one(Node, grader.world.node.id)
        service.set_node_state(session, node, state, by=grader.world.admin)
    assert grader.beat().state is state
    assert grader.dispatch() == []
