"""What the API says of boards."""

from datetime import datetime

from pydantic import BaseModel

from server.leaderboard.service import Board
from server.schemas import cut


class EntryOut(BaseModel):
    """One team's best. Fractions are shares of the speed of light; `low` and `high` are their interval."""

    rank: int
    name: str
    fraction: float
    low: float
    high: float
    points: float | None
    hardware: str
    hardware_name: str
    hardware_digest: str | None
    judge_version: str
    language: str
    submitted: datetime
    submission: str


class TargetOut(BaseModel):
    """A board of the same version."""

    hardware: str
    devices: int


class BoardOut(BaseModel):
    """One board: entries may be compared with each other and with nothing else."""

    course: str
    assignment: str
    version: str
    hardware: str
    devices: int
    targets: list[TargetOut]
    entries: list[EntryOut]
    next: int | None
    """As in other lists: `after` of the next page. The cursor is a place on the board."""

    @classmethod
    def of(cls, board: Board, course: str, *, after: int, limit: int) -> "BoardOut":
        """One page of the board."""
        entries, following = cut(board.entries, after, limit)
        return cls(
            next=following,
            course=course,
            assignment=board.assignment.name,
            version=board.version.digest,
            hardware=board.hardware,
            devices=board.devices,
            targets=[TargetOut(hardware=hardware, devices=devices) for hardware, devices in board.targets],
            entries=[
                EntryOut(
                    rank=entry.rank,
                    name=entry.team,
                    fraction=entry.fraction,
                    low=entry.low,
                    high=entry.high,
                    points=entry.points,
                    hardware=entry.hardware,
                    hardware_name=entry.hardware_name,
                    hardware_digest=entry.hardware_digest,
                    judge_version=entry.judge_version,
                    language=entry.language,
                    submitted=entry.submitted,
                    submission=entry.submission,
                )
                for entry in entries
            ],
        )
