"""What `/metrics` counts of the database: each attempt once, for what ended it, however often one looks."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from grader.contract import Verdict
from server.db.models import Node, User
from server.db.models.node import NodeState
from server.db.session import Database
from server.grading import service
from server.submissions import service as submissions

Submit = Callable[..., str]
ENDS = ("reported", "failed", "lost", "returned", "cancelled")


@pytest.fixture
def counted(client: httpx.Client) -> Callable[[], dict[str, float]]:
    """The attempts that are over, by how, and `expiries`, as an operator reads them."""

    def read() -> dict[str, float]:
        answer = client.get("/metrics")
        assert answer.status_code == 200, answer.text
        found = {
            (sample.name, sample.labels.get("state")): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        ends = {end: found["solmark_attempts_total", end] for end in ENDS}
        return {**ends, "expiries": found["solmark_lease_expiries_total", None]}

    return read


def test_each_end_of_an_attempt_is_counted_once_and_lease_expiries_are_what_workers_lost(
    database: Database, grader: Any, submit: Submit, counted: Callable[[], dict[str, float]]
) -> None:
    expected = dict.fromkeys([*ENDS, "expiries"], 0.0)

    def begin(login: str = "ann") -> Any:
        submit(login, now=grader.now)
        grader.beat()
        (spec,) = grader.dispatch()
        grader.claim(spec)
        return spec

    def end(**more: float) -> None:
        """So many more have ended; sweeps that find nothing to do count nothing."""
        for name, number in more.items():
            expected[name] += number
        for _ in range(3):
            assert counted() == expected
            assert grader.sweep() == service.Sweep()

    end()
    spec = begin()
    end()  # It runs: its lease is long over by the clock of who asks, and nobody has taken the job away.
    grader.wait(grader.settings.lease_seconds - 1)
    end()
    grader.send(grader.report(spec))
    end(reported=1)

    spec = begin()
    grader.wait(grader.settings.lease_seconds + 1)
    assert grader.sweep().requeued == 1
    end(lost=1, expiries=1)
    grader.beat()
    assert [job.attempt for job in grader.dispatch()] == [2]
    grader.wait(grader.settings.pickup_seconds + 1)
    assert grader.sweep().requeued == 1
    end(lost=1)  # No worker had begun: its message got lost, and no lease of a worker.
    grader.send(grader.report(spec))
    end()  # The lost worker's late Report ends nothing.

    grader.beat()
    (spec,) = grader.dispatch()
    grader.claim(spec)
    with database.begin() as session:
        node = session.get_one(Node, grader.world.node.id)
        service.return_job(session, token=spec.token, node=node, now=grader.now)
    end(returned=1)
    grader.grade(verdict=Verdict.GRADER_ERROR)
    end(failed=1)
    grader.grade()
    end(reported=1)

    spec = begin("bob")
    with database.begin() as session:
        found = submissions.get(session, spec.submission, grader.world.bob)
        submissions.cancel(session, found, by=session.get_one(User, grader.world.bob.id), now=grader.now)
    end(cancelled=1)

    begin()
    with database.begin() as session:
        node, by = session.get_one(Node, grader.world.node.id), session.get_one(User, grader.world.ta.id)
        service.set_node_state(session, node, NodeState.SET_ASIDE, by=by, now=grader.now)
    end(returned=1)
