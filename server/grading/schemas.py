"""What workers and the server say to each other over HTTP."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from server.db.models.node import NodeState
from server.schemas import Body


class ClaimBody(Body):
    """Which worker begins a job."""

    worker: str = Field(min_length=1, max_length=128)


class ClaimOut(BaseModel):
    """The job is this worker's; unix times and seconds."""

    deadline: float
    lease_seconds: float
    heartbeat_seconds: float


class HeartbeatBody(Body):
    """A worker lives."""

    worker: str = Field(min_length=1, max_length=128)
    hardware: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    devices: int = Field(default=1, ge=1, le=64)
    state: Literal["active", "draining", "set_aside"] = "active"
    versions: dict[str, Any] = Field(default_factory=dict, max_length=64)


class HeartbeatOut(BaseModel):
    """What staff want of the node, and whether the job that was named must be dropped."""

    state: NodeState
    cancelled: bool


class WorkerOut(BaseModel):
    """A worker as staff see it."""

    node: str
    node_state: NodeState
    name: str
    hardware: str
    devices: int
    state: NodeState
    last_heartbeat: datetime
    versions: dict[str, Any]
