"""Who is next: fair share, rejudges behind, deadlines, ageing; one query for the dispatcher and the page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select, update
from sqlalchemy.exc import IntegrityError

from grader.contract import Mode, Reason
from server.db.models import Assignment, AssignmentVersion, Attempt, DeviceUsage, Submission, User
from server.db.session import Database
from server.grading import fairness, queue_queries, service, standings
from server.grading.queue_queries import AGED, PRESSING, REJUDGE_AGED
from server.grading.states import SubmissionState
from server.submissions import service as submissions

Submit = Callable[..., str]


def _second_assignment(database: Database, **values: Any) -> int:
    """Another assignment of the course with the same content; its id."""
    with database.begin() as session:
        version = session.scalars(select(AssignmentVersion)).first()
        assert version is not None
        other = Assignment(course_id=version.course_id, track="kernels", slug="other", **values)
        session.add(other)
        session.flush()
        copied = {
            column.key: getattr(version, column.key)
            for column in AssignmentVersion.__table__.columns
            if column.key not in ("id", "assignment_id")
        }
        session.add(AssignmentVersion(assignment_id=other.id, **copied))
        return other.id


def _move_to(database: Database, public_id: str, assignment_id: int, number: int | None = None) -> None:
    with database.begin() as session:
        session.execute(
            update(Submission)
            .where(Submission.public_id == public_id)
            .values(assignment_id=assignment_id, number=number or Submission.id + 1000)
        )


def _rejudge(database: Database, grader: Any, public_id: str) -> None:
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ta)
        by = session.get_one(User, grader.world.ta.id)
        submissions.rerun(session, grader.settings, found, by=by, now=grader.now)


def _order(database: Database, grader: Any) -> list[str]:
    """The queue from first to last, as students are told their places."""
    with database.read() as session:
        rows = session.scalars(select(Submission).where(Submission.state == SubmissionState.QUEUED)).all()
        places = {row.public_id: service.place(session, grader.settings, row, now=grader.now) for row in rows}
    assert all(places.values())
    return sorted(places, key=lambda name: places[name].ahead)  # type: ignore[union-attr]


def _finish(grader: Any, spec: Any, worker: str = "w1", **changes: Any) -> None:
    grader.claim(spec, worker=worker)
    assert grader.send(grader.report(spec, **changes)).outcome == "stored"


def test_fewest_recent_minutes_first_whoever_came_first(
    database: Database, grader: Any, submit: Submit
) -> None:
    for login, seconds in (("ann", 300.0), ("bob", 3.0), ("ta", 40.0)):
        submit(login, now=grader.now)
        grader.beat()
        (spec,) = grader.dispatch()
        _finish(grader, spec, seconds=seconds)
    grader.wait(60)
    names = {login: submit(login, now=grader.now) for login in ("ann", "ta", "bob")}
    grader.beat()
    assert _order(database, grader) == [names["bob"], names["ta"], names["ann"]]
    assert [spec.submission for spec in grader.dispatch()] == [names["bob"], names["ta"]]


def test_what_was_not_the_students_doing_is_not_their_use(
    database: Database, grader: Any, submit: Submit
) -> None:
    ann = submit("ann", now=grader.now)
    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    grader.wait(grader.settings.lease_seconds + 1)
    grader.sweep()  # Lost after a minute of a device.
    grader.beat()
    (spec,) = grader.dispatch()
    _finish(grader, spec, seconds=5.0)
    _rejudge(database, grader, ann)
    grader.beat()
    (spec,) = grader.dispatch()
    assert spec.reason is Reason.REJUDGE
    _finish(grader, spec, seconds=500.0)
    with database.read() as session:
        usage = session.scalars(select(DeviceUsage)).one()
        assert usage.user_id == grader.world.ann.id
        assert fairness.recent_seconds(usage.weight, grader.now) == pytest.approx(5.0)
        later = grader.now + timedelta(seconds=fairness.HALF_LIFE)
        assert fairness.recent_seconds(usage.weight, later) == pytest.approx(2.5)


def test_a_student_has_one_under_way_even_with_idle_workers(
    database: Database, grader: Any, submit: Submit
) -> None:
    first, second = submit("ann"), submit("ann")
    _second = submit("ann", hardware="h200")
    for worker in ("w1", "w2", "w3"):
        grader.beat(worker=worker)
    grader.beat(worker="gpu", hardware="h200")
    (spec,) = grader.dispatch()
    assert spec.submission == first
    assert grader.dispatch() == []
    _finish(grader, spec)
    # The second and the third wait on different hardware: still one at a time.
    (spec,) = grader.dispatch()
    assert spec.submission in (second, _second)


def test_one_job_for_each_free_worker_and_one_more(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    for login in students(8):
        submit(login, now=grader.now)
    grader.beat(worker="w1")
    grader.beat(worker="w2")
    specs = grader.dispatch()
    assert len(specs) == 3
    grader.claim(specs[0], worker="w1")
    assert grader.dispatch() == []  # One free, and two wait for it.
    grader.claim(specs[1], worker="w2")
    assert grader.dispatch() == []  # None free, and one waits.
    assert grader.send(grader.report(specs[0])).outcome == "stored"
    assert len(grader.dispatch()) == 1
    grader.beat(worker="w3")
    assert len(grader.dispatch()) == 1


def test_each_hardware_class_has_a_queue_of_its_own(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    logins = students(6)
    for login in logins[:4]:
        submit(login, now=grader.now)
    on_gpus = [submit(login, hardware="h200", now=grader.now) for login in logins[4:]]
    grader.beat(worker="gpu", hardware="h200")
    specs = grader.dispatch()
    assert [(spec.submission, spec.target.hardware) for spec in specs] == [(name, "h200") for name in on_gpus]
    grader.beat(worker="w1")
    assert [spec.target.hardware for spec in grader.dispatch()] == ["cpu"] * 2
    # Busy, idle, and without a worker: one class is nothing to the other.
    _finish(grader, specs[0], worker="gpu")
    submit(logins[4], hardware="h200", now=grader.now)
    grader.claim(specs[1], worker="gpu")
    assert [spec.target.hardware for spec in grader.dispatch()] == ["h200"]


def test_a_closing_assignment_goes_before_others(database: Database, grader: Any, submit: Submit) -> None:
    other = _second_assignment(database, closes=grader.now + PRESSING + timedelta(minutes=5))
    names = [submit(login, now=grader.now) for login in ("ann", "bob", "ta")]
    _move_to(database, names[2], other)
    assert _order(database, grader) == names
    grader.wait(400)
    assert _order(database, grader) == [names[2], *names[:2]]
    grader.beat()
    assert grader.dispatch()[0].submission == names[2]


def test_after_the_deadline_nothing_presses_any_more(database: Database, grader: Any, submit: Submit) -> None:
    other = _second_assignment(database, closes=grader.now + timedelta(seconds=30))
    names = [submit(login, now=grader.now) for login in ("ann", "bob")]
    _move_to(database, names[1], other)
    assert _order(database, grader) == names[::-1]
    grader.wait(31)
    assert _order(database, grader) == names


def test_who_has_waited_too_long_is_next_whatever_others_used(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    submit("ann", now=grader.now)
    grader.beat()
    (spec,) = grader.dispatch()
    _finish(grader, spec, seconds=5000.0)
    heavy = submit("ann", now=grader.now)
    grader.wait(AGED.total_seconds() - 60)
    light = [submit(login, now=grader.now) for login in students(3)]
    assert _order(database, grader) == [*light, heavy]
    grader.wait(61)
    assert _order(database, grader) == [heavy, *light]


def test_a_heap_of_old_submissions_does_not_age_as_one(
    database: Database, grader: Any, submit: Submit
) -> None:
    """Who was served just now has not waited, however old the next one is."""
    heap = [submit("ann", now=grader.now) for _ in range(3)]
    grader.wait(1)
    bob = submit("bob", now=grader.now)
    grader.wait(AGED.total_seconds() + 60)
    grader.beat()
    first, second = grader.dispatch()
    assert [first.submission, second.submission] == [heap[0], bob]
    _finish(grader, first)
    _finish(grader, second)
    bobs = submit("bob", now=grader.now)
    grader.wait(AGED.total_seconds() - 60)
    ta = submit("ta", now=grader.now)
    assert _order(database, grader)[0] == ta  # Neither has waited too long, and only ta has used nothing.
    assert set(_order(database, grader)) == {*heap[1:], bobs, ta}


def test_a_thousand_rejudges_starve_nobody_and_do_not_starve(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    logins = students(5)
    old = {submit(login, now=grader.now): login for login in logins}
    for worker in ("w1", "w2", "w3", "w4"):
        grader.beat(worker=worker)
    for spec in grader.dispatch():
        _finish(grader, spec)
    with database.begin() as session:
        row = session.scalars(select(Submission).limit(1)).one()
        by = session.get_one(User, grader.world.ta.id)
        assert service.rejudge(session, row.assignment, by=by, now=grader.now) == 5
    grader.wait(REJUDGE_AGED.total_seconds() + 1)
    rejudged = 0
    for _ in range(8):
        people = [submit(login, now=grader.now) for login in ("ann", "bob")]
        grader.beat()
        specs = grader.dispatch()
        kinds = [spec.reason for spec in specs]
        assert len(specs) == 2
        # With one worker, every other job is the oldest rejudge: never two of them at once.
        assert kinds.count(Reason.REJUDGE) <= 1
        rejudged += kinds.count(Reason.REJUDGE)
        assert people
        for spec in specs:
            _finish(grader, spec)
        with database.begin() as session:
            session.execute(
                update(Submission)
                .where(Submission.state == SubmissionState.QUEUED, Submission.reason == Reason.SUBMIT)
                .values(state=SubmissionState.CANCELLED)
            )
    assert rejudged == len(old)


def test_place_and_dispatch_are_one_order(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    logins = students(6)
    for turn in range(3):
        for login in logins[: 6 - turn]:
            submit(login, now=grader.now)
            grader.wait(1)
    _rejudge_all_of(database, grader, logins[0], submit)
    other = _second_assignment(database, closes=grader.now + timedelta(hours=1))
    with database.begin() as session:
        row = session.scalars(select(Submission).order_by(Submission.id.desc()).limit(1)).one()
        row.assignment_id = other
        for index, user in enumerate(session.scalars(select(User).where(User.login.in_(logins)))):
            session.add(
                DeviceUsage(
                    user_id=user.id,
                    weight=fairness.add(None, (index * 7) % 5 + 1, grader.now),
                    served=grader.now,
                )
            )
    while order := _order(database, grader):
        grader.beat()
        specs = grader.dispatch()
        chosen = [spec.submission for spec in specs]
        assert chosen == order[: len(chosen)]
        assert chosen
        for spec in specs:
            _finish(grader, spec, seconds=2.0)


def _rejudge_all_of(database: Database, grader: Any, login: str, submit: Submit) -> None:
    """One finished submission of the student waits to be graded again."""
    done = submit(login, now=grader.now)
    with database.begin() as session:
        session.execute(
            update(Submission).where(Submission.public_id == done).values(state=SubmissionState.DONE)
        )
    _rejudge(database, grader, done)


def test_a_queue_is_ranked_once_for_all_who_look_within_a_moment(
    database: Database, grader: Any, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = 0

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal ranked
        ranked += "ranking" in statement

    def look(*public_ids: str) -> list[int]:
        with database.read() as session:
            rows = {
                row.public_id: row
                for row in session.scalars(select(Submission).where(Submission.public_id.in_(public_ids)))
            }
            places = [service.place(session, grader.settings, rows[name]) for name in public_ids]
        return [place.ahead for place in places if place is not None]

    first, second = submit("ann", now=grader.now), submit("bob", now=grader.now)
    event.listen(database.engine, "before_cursor_execute", note)
    try:
        for _ in range(3):
            assert look(first, second) == [0, 1]
        assert ranked == 1
        third = submit("ta", now=grader.now)
        assert look(first, second, third) == [0, 1, 2]
        assert ranked == 2, "who is new in the queue is told where at once"
        monkeypatch.setattr(standings, "KEPT_SECONDS", 0.0)
        assert look(first) == [0]
        assert ranked == 3
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def test_the_expected_wait_counts_what_runs_and_the_students_own(
    database: Database, grader: Any, submit: Submit
) -> None:
    ann = [submit("ann", now=grader.now) for _ in range(2)]
    for worker in ("w1", "w2", "w3"):
        grader.beat(worker=worker)
    (spec,) = grader.dispatch()
    grader.claim(spec)
    bob = submit("bob", now=grader.now)

    def look(public_id: str) -> tuple[int, float | None]:
        with database.read() as session:
            row = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            place = service.place(session, grader.settings, row, now=grader.now)
            assert place is not None
            return place.ahead, place.expected_seconds

    # What runs is ahead, too; two workers are idle.
    assert look(bob) == (1, 0.0)
    assert look(ann[1]) == (2, 60.0)  # They are of no use to Ann: hers run one after another.
    grader.wait(45)
    for worker in ("w1", "w2", "w3"):
        grader.beat(worker=worker)
    assert look(ann[1]) == (2, 15.0)


def test_a_newer_test_run_supersedes_an_older_one_that_waits(
    database: Database, grader: Any, submit: Submit
) -> None:
    rejudged = submit("ann", mode=Mode.TEST, now=grader.now)
    grader.grade()
    _rejudge(database, grader, rejudged)
    elsewhere = submit("ann", mode=Mode.TEST, now=grader.now)
    _move_to(database, elsewhere, _second_assignment(database), number=1)
    old = submit("ann", mode=Mode.TEST, now=grader.now)
    kept = [
        submit("ann", now=grader.now),  # A grading is no test.
        submit("bob", mode=Mode.TEST, now=grader.now),  # Another team's.
        submit("ann", mode=Mode.TEST, hardware="h200", now=grader.now),  # For another machine.
        elsewhere,  # For another assignment.
        rejudged,  # Staff's question.
    ]
    grader.wait(5)
    new = submit("ann", mode=Mode.TEST, now=grader.now)
    with database.read() as session:
        rows = {row.public_id: row for row in session.scalars(select(Submission))}
    assert rows[old].state is SubmissionState.CANCELLED
    message = rows[old].message
    assert message is not None
    assert message["code"] == "superseded"
    assert {rows[name].state for name in [*kept, new]} == {SubmissionState.QUEUED}
    assert rows[new].queued == rows[old].queued  # It stands in for it in the queue, too.
    assert not rows[old].charged_attempt
    # One that is under way goes on.
    grader.beat()
    running = {spec.submission for spec in grader.dispatch()}
    assert kept[1] in running
    submit("bob", mode=Mode.TEST, now=grader.now)
    with database.read() as session:
        rows = {row.public_id: row for row in session.scalars(select(Submission))}
    assert {rows[name].state for name in running} == {SubmissionState.DISPATCHED}


def test_two_open_attempts_of_one_submission_are_refused_by_the_database(
    database: Database, grader: Any, submit: Submit
) -> None:
    submit()
    grader.beat()
    grader.dispatch()
    with database.read() as session:
        row = session.scalars(select(Attempt)).one()
        values = {
            column.key: getattr(row, column.key)
            for column in Attempt.__table__.columns
            if column.key not in ("id", "number", "token")
        }
        session.add(Attempt(**values, number=2, token="another token of the right length"))
        with pytest.raises(IntegrityError):
            session.flush()


def test_what_an_assignment_in_quarantine_has_waiting_is_held_back(
    database: Database, grader: Any, submit: Submit
) -> None:
    held, free = submit("ann"), submit("bob")
    other = _second_assignment(database, quarantined=grader.now)
    _move_to(database, held, other)
    grader.beat()
    assert [spec.submission for spec in grader.dispatch()] == [free]
    with database.read() as session:
        row = session.scalars(select(Submission).where(Submission.public_id == held)).one()
        assert service.place(session, grader.settings, row, now=grader.now) == service.Place(
            0, None, "quarantined"
        )
    with database.begin() as session:
        by = session.get_one(User, grader.world.ta.id)
        service.lift(session, session.get_one(Assignment, other), by=by, now=grader.now)
    assert [spec.submission for spec in grader.dispatch()] == [held]


def test_first_rows_are_those_of_the_whole_ranking(
    database: Database, grader: Any, submit: Submit, students: Callable[[int], list[str]]
) -> None:
    """What the dispatcher looks at is the whole ranking's rows of turn 1, with equal columns."""
    for login in students(5):
        for _ in range(3):
            submit(login, now=grader.now)
            grader.wait(1)
    _rejudge_all_of(database, grader, "ann", submit)
    grader.wait(REJUDGE_AGED.total_seconds() + 1)
    grader.beat()
    grader.dispatch()
    with database.read() as session:
        whole = queue_queries.ranking("cpu", grader.now)
        every = session.execute(select(whole).where(whole.c.turn == 1)).all()
        firsts = queue_queries.ranking("cpu", grader.now, first_only=True)
        found = session.execute(select(firsts).where(firsts.c.turn == 1)).all()
    assert sorted(tuple(row) for row in every) == sorted(tuple(row) for row in found)
    assert len(every) == 5
