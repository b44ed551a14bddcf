"""What the API says of scores."""

from pydantic import BaseModel

from server.gradebook.service import Row


class BestOut(BaseModel):
    """The submission of a team that counts for an assignment: the one with the most points."""

    assignment: str
    points: float | None
    fraction: float | None
    submission: str


class ScoresOut(BaseModel):
    """One student's scores; an assignment without a graded submission is left out."""

    login: str
    name: str
    team: str
    scores: list[BestOut]

    @classmethod
    def of(cls, row: Row) -> "ScoresOut":
        """From the gradebook's row."""
        scores = [
            BestOut(assignment=name, points=best.points, fraction=best.fraction, submission=best.public_id)
            for name, best in sorted(row.best.items())
        ]
        return cls(login=row.user.login, name=row.user.name, team=row.team, scores=scores)
