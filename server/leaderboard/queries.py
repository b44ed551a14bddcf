"""SQL on scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.db.models import Assignment, Score, Submission, Team


@dataclass(frozen=True)
class Best:
    """A team's best score on one board."""

    score: Score
    submission: Submission
    team: Team


def best_scores(
    session: Session, assignment: Assignment, digest: str, hardware: str, devices: int
) -> Sequence[Best]:
    """Each student team's best ranked score by its pessimistic end; best first, then earliest."""
    order = func.row_number().over(
        partition_by=Score.team_id, order_by=(Score.low.desc(), Score.fraction.desc(), Score.submission_id)
    )
    best = (
        select(Score.id, order.label("place"))
        .where(
            Score.assignment_id == assignment.id,
            Score.bundle_digest == digest,
            Score.hardware == hardware,
            Score.devices == devices,
            Score.current,
            Score.ranked,
            Score.low.is_not(None),
            Score.fraction.is_not(None),
        )
        .subquery()
    )
    rows = session.execute(
        select(Score, Submission, Team)
        .join(best, best.c.id == Score.id)
        .join(Submission, Submission.id == Score.submission_id)
        .join(Team, Team.id == Score.team_id)
        .where(best.c.place == 1, Team.staff.is_(False))
        .order_by(Score.low.desc(), Score.fraction.desc(), Score.submission_id)
    )
    return [Best(score, submission, team) for score, submission, team in rows]
