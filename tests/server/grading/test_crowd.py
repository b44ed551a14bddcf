"""Dispatchers, workers, a sweeper and people who change their minds, all at once, on both databases."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import select

from grader.contract import JobSpec
from server.db.models import Attempt, Report, Score, Submission
from server.db.session import Database
from server.errors import StaleAttempt, WrongState
from server.grading.states import OPEN, AttemptState, SubmissionState
from server.submissions import service as submissions

DISPATCHERS = 4
WORKERS = 6
STUDENTS = 10
EACH = 3


class Crowd:
    """The threads, and what they saw."""

    def __init__(self, database: Database, grader: Any, names: list[str]) -> None:
        self.database, self.grader, self.names = database, grader, names
        self.tokens: list[str] = []
        self.most_published = 0
        self.most_of_one_student = 0
        self._inbox: list[JobSpec] = []
        self._lock, self._stop = threading.Lock(), threading.Event()

    def run(self) -> None:
        """Until everything is final; raises what any thread raised."""
        with ThreadPoolExecutor(DISPATCHERS + WORKERS + 3) as pool:
            tasks = [pool.submit(self._dispatching) for _ in range(DISPATCHERS)]
            tasks += [pool.submit(self._working, f"w{index}") for index in range(WORKERS)]
            tasks += [pool.submit(self._sweeping), pool.submit(self._cancelling)]
            watch = pool.submit(self._watching)
            try:
                watch.result(timeout=90)
            finally:
                self._stop.set()
            for task in tasks:
                task.result(timeout=30)

    def _dispatching(self) -> None:
        while not self._stop.is_set():
            found = self.grader.dispatch()
            with self._lock:
                self.tokens += [spec.token for spec in found]
                self._inbox += found
            self._stop.wait(0.002)

    def _sweeping(self) -> None:
        while not self._stop.wait(0.05):
            self.grader.sweep()

    def _working(self, worker: str) -> None:
        while not self._stop.is_set():
            with self._lock:
                spec = self._inbox.pop(0) if self._inbox else None
            if spec is None:
                self._stop.wait(0.005)
                continue
            try:
                self.grader.claim(spec, worker=worker)
            except StaleAttempt:  # Cancelled in between.
                continue
            self.grader.send(self.grader.report(spec))

    def _cancelling(self) -> None:
        for name in self.names[2::9]:
            try:
                with self.database.begin() as session:
                    found = session.scalars(select(Submission).where(Submission.public_id == name)).one()
                    submissions.cancel(session, found, by=found.user, now=self.grader.now)
            except WrongState:  # It was faster.
                continue

    def _watching(self) -> None:
        done = False
        while not done:
            with self.database.read() as session:
                rows = session.execute(
                    select(Attempt.state, Submission.user_id)
                    .join(Attempt.submission)
                    .where(Attempt.state.in_(OPEN))
                ).all()
                states = set(session.scalars(select(Submission.state)))
            users = [row.user_id for row in rows]
            self.most_of_one_student = max([self.most_of_one_student, *map(users.count, users)])
            published = sum(row.state is AttemptState.PUBLISHED for row in rows)
            self.most_published = max(self.most_published, published)
            done = all(state.is_final for state in states)
            self._stop.wait(0.01)


def test_two_dispatchers_and_everybody_else_at_once(
    database: Database, grader: Any, submit: Callable[..., str], students: Callable[[int], list[str]]
) -> None:
    names = [submit(login, now=grader.now) for login in students(STUDENTS) for _ in range(EACH)]
    for index in range(WORKERS):
        grader.beat(worker=f"w{index}")
    crowd = Crowd(database, grader, names)
    crowd.run()
    assert len(crowd.tokens) == len(set(crowd.tokens))
    assert crowd.most_of_one_student <= 1
    assert crowd.most_published <= WORKERS + 1
    with database.read() as session:
        rows = {row.id: row for row in session.scalars(select(Submission))}
        attempts = session.scalars(select(Attempt)).all()
        current = list(session.scalars(select(Report.submission_id).where(Report.current)))
        scores = list(session.scalars(select(Score.submission_id).where(Score.current)))
    graded = {key for key, row in rows.items() if row.state is SubmissionState.DONE}
    cancelled = {key for key, row in rows.items() if row.state is SubmissionState.CANCELLED}
    assert graded | cancelled == set(rows)
    assert {rows[key].public_id for key in cancelled} <= set(names[2::9])
    assert sorted(row.submission_id for row in attempts if row.state is AttemptState.REPORTED) == sorted(
        graded
    )
    assert sorted(current) == sorted(scores) == sorted(graded)
    assert len(attempts) == len(crowd.tokens)
