"""Results that staff look at before they are ranked: which wait, and what was decided.

The judge asks for a look (`contract.Score.review`); a Report stays as it came, the decision lies beside it.
"""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from grader import contract
from grader.contract import Text
from server.db.audit import record
from server.db.models import Course, Score, Submission, User
from server.db.models.report import Review
from server.errors import WrongState
from server.grading import queries

_LEFT = Text(
    code="left_unranked",
    en="The staff looked at this result and left it unranked. Your points stay; ask them if you wonder why.",
    zh="课程人员查看了该结果，决定不将其列入排名。得分不受影响；如有疑问，请联系他们。",
)


def of(session: Session, submission: Submission) -> Score | None:
    """The current score of a submission if staff look at it, or have; None where nothing is to be decided."""
    score = queries.current_score(session, submission)
    return score if score is not None and score.review is not None else None


def waiting(session: Session, courses: Sequence[Course]) -> Sequence[Submission]:
    """Submissions of these courses whose results wait for staff, oldest first."""
    return queries.to_review(session, [course.id for course in courses])


def decide(session: Session, submission: Submission, *, rank: bool, note: str, by: User) -> Score:
    """Rank a result, or leave it unranked; a later decision replaces it. The note is for staff.

    Raises `WrongState` where nothing waits or was decided. Who may decide is the caller's question.
    """
    submission = queries.lock_submission(session, submission.id)
    score = of(session, submission)
    if score is None:
        raise WrongState(action="review", state=submission.state.value)
    score.review = Review.RANKED if rank else Review.UNRANKED
    score.review_note = note
    score.ranked = rank
    record(
        session, "submission.review", submission.public_id, actor=by, course_id=submission.course_id,
        ranked=rank, note=note,
    )  # fmt: skip
    return score


def applied(report: contract.Report, score: Score | None) -> contract.Report:
    """The Report with what staff decided about its rank; unchanged while they have not."""
    if report.score is None or score is None or score.review in (None, Review.WAITING):
        return report
    reason = None if score.ranked else _LEFT
    decided = {"ranked": score.ranked, "unranked_reason": reason, "review": False}
    return report.model_copy(update={"score": report.score.model_copy(update=decided)})
