"""What workers and the server say to each other over HTTP."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from server.db.models.node import NodeState
from server.schemas import Body, OfferedMode


class ClaimBody(Body):
    """Which worker begins a job."""

    worker: str = Field(min_length=1, max_length=128)


class ClaimOut(BaseModel):
    """The job is this worker's; unix times and seconds."""

    deadline: float
    seconds: float
    """Until the deadline: the worker's clock may differ from ours."""
    lease_seconds: float
    heartbeat_seconds: float


Versions = dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=256)]]
"""What runs there, by name. Flat and short: staff read it of all workers at once."""


class Health(Body):
    """What a worker says of its health."""

    probe_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Since a message last reached it; null: none did yet. A job at hand keeps others waiting."""
    spooled_reports: int = Field(default=0, ge=0, le=1 << 31)
    """Reports that the server has not acknowledged yet."""
    disk_free_bytes: int | None = Field(default=None, ge=0, le=1 << 53)


class HeartbeatBody(Body):
    """A worker lives."""

    worker: str = Field(min_length=1, max_length=128)
    hardware: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    devices: int = Field(default=1, ge=1, le=64)
    state: Literal["active", "draining", "set_aside"] = "active"
    versions: Versions = Field(default_factory=dict, max_length=64)
    health: Health = Field(default_factory=Health)
    consuming: bool = True
    """Whether its last probe through the queue reached it."""


class HeartbeatOut(BaseModel):
    """What staff want of the node, and whether the job that was named must be dropped."""

    state: NodeState
    cancelled: bool


class NodeBody(Body):
    """What a node shall be."""

    state: NodeState


class NodeOut(BaseModel):
    """A node as staff see it."""

    name: str
    state: NodeState
    quarantine: dict[str, Any] | None
    """What it was quarantined for: numbers of failures and students, nodes and assignments concerned."""
    last_heartbeat: datetime | None


class QuarantineOut(BaseModel):
    """An assignment of which nothing is graded."""

    assignment: str
    since: datetime
    evidence: dict[str, Any]


class RejudgeBody(Body):
    """Which submissions are graded again; all that were graded, unless it says less."""

    errors_only: bool = False
    """Only those that failed through no fault of their authors."""
    mode: OfferedMode | None = None


class RejudgeOut(BaseModel):
    """How many submissions are in the queue again."""

    submissions: int


class JobOut(BaseModel):
    """What a worker grades now."""

    submission: str
    attempt: int
    started: datetime | None


class WorkerOut(BaseModel):
    """A worker as staff see it."""

    node: str
    node_state: NodeState
    name: str
    hardware: str
    devices: int
    state: NodeState
    consuming: bool
    last_heartbeat: datetime
    versions: dict[str, Any]
    health: dict[str, Any]
    job: JobOut | None
