"""Boards: who stands on them, in which order, and what is never compared."""

from collections.abc import Callable
from typing import Any

import pytest

from grader.bundle import Bundle
from grader.contract import Mode, Score, Verdict
from server.blobs import BlobStore
from server.courses import service as courses
from server.db.session import Database
from server.errors import NotFound, NotLoggedIn
from server.leaderboard import service

NAME = "kernels/double"
Submit = Callable[..., str]


def _board(database: Database, **options: Any) -> service.Board:
    with database.read() as session:
        return service.board(session, courses.get_course(session, "demo"), NAME, **options)


def _score(low: float, fraction: float | None = None, **changes: Any) -> Score:
    fraction = fraction or low * 1.01
    values = {
        "fraction": fraction,
        "low": low,
        "high": min(1.0, fraction * 1.01),
        "points": 1.0,
        "ranked": True,
    } | changes
    return Score(**values)


def _rows(board: service.Board) -> list[tuple[int, str, float]]:
    return [(entry.rank, entry.team, entry.low) for entry in board.entries]


def test_the_best_of_each_team_by_the_pessimistic_end_with_shared_ranks(
    database: Database, grader: Any, submit: Submit, settings: Any, world: Any
) -> None:
    from server.accounts import service as accounts

    with database.begin() as session:
        carl = accounts.create_user(session, settings, login="carl", name="Carl", password=None)
        courses.enrol(session, courses.get_course(session, "demo"), carl)
        object.__setattr__(world, "carl", carl)
    for login, score in (
        ("ann", _score(0.30)),
        ("ann", _score(0.60, 0.61)),
        ("ann", _score(0.55, 0.90)),  # A higher fraction, but surer to be lower.
        ("bob", _score(0.5951)),
        ("carl", _score(0.40)),
        ("ta", _score(0.99, 1.0, high=1.0)),
    ):
        submit(login)
        grader.grade(score=score)
    board = _board(database)
    assert _rows(board) == [(1, "ann", 0.60), (1, "bob", 0.5951), (3, "carl", 0.40)]
    assert board.entries[0].fraction == 0.61
    assert board.entries[0].hardware_name == "Some CPU"
    assert (board.hardware, board.devices, board.version.digest) == ("cpu", 1, world.digest)


def test_what_does_not_stand_on_a_board(database: Database, grader: Any, submit: Submit) -> None:
    submit()
    grader.grade(score=_score(0.9, ranked=False))
    submit()
    grader.grade(verdict=Verdict.FASTER_THAN_LIGHT, score=_score(0.99))
    submit()
    grader.grade(score=Score(points=40.0, ranked=True))
    submit(mode=Mode.TEST)
    grader.grade(score=_score(0.9))
    assert _rows(_board(database)) == []


def test_versions_and_targets_have_boards_of_their_own(
    database: Database, blobs: BlobStore, grader: Any, submit: Submit, world: Any, changed_bundle: Bundle
) -> None:
    submit("ann")
    grader.grade(score=_score(0.5))
    with database.begin() as session:
        courses.publish_bundle(
            session, blobs, courses.get_course(session, "demo"), changed_bundle.archive,
            changed_bundle.manifest.model_dump_json(), by=world.admin,
        )  # fmt: skip
    submit("bob")
    grader.grade(score=_score(0.7))
    assert _rows(_board(database)) == [(1, "bob", 0.7)]
    assert _rows(_board(database, digest=world.digest)) == [(1, "ann", 0.5)]
    assert _rows(_board(database, hardware="h200")) == []
    assert list(_board(database).targets) == [("cpu", 1), ("h200", 1)]
    with pytest.raises(NotFound):
        _board(database, hardware="tpu")
    with pytest.raises(NotFound):
        _board(database, digest="0" * 64)


def test_a_rejudge_that_fails_takes_the_entry_off(database: Database, grader: Any, submit: Submit) -> None:
    from server.submissions import service as submissions

    public_id = submit()
    grader.grade()
    with database.begin() as session:
        found = submissions.get(session, public_id, grader.world.ta)
        submissions.rerun(session, grader.settings, found, by=grader.world.ta, now=grader.now)
    assert len(_board(database).entries) == 1
    grader.grade(verdict=Verdict.WRONG_ANSWER)
    assert _board(database).entries == []


def test_who_may_see_a_board(database: Database, world: Any) -> None:
    with database.begin() as session:
        course = courses.get_course(session, "demo")
        assert service.visible_course(session, "demo", world.bob) is course
        for slug in ("demo", "none"):
            with pytest.raises(NotLoggedIn):
                service.visible_course(session, slug, None)
        with pytest.raises(NotFound):
            service.visible_course(session, "none", world.bob)
        courses.set_public_boards(session, course, public=True, by=world.admin)
        assert service.visible_course(session, "demo", None) is course
