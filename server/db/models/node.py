"""Grading nodes (who may fetch jobs) and the workers on them (who is alive)."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.db.base import Base, JsonType, text_enum, utc_now


class NodeState(StrEnum):
    """Whether a node or worker gets jobs; only an active one does.

    Paused and draining nodes finish what they have; from one that is set aside its jobs return to the queue.
    The quarantine is the system's doing, after repeated grader errors.
    """

    ACTIVE = "active"
    PAUSED = "paused"
    DRAINING = "draining"
    SET_ASIDE = "set_aside"
    QUARANTINED = "quarantined"


class Node(Base):
    """A machine that grades; its token lets it fetch the blobs of its own jobs, nothing else."""

    __tablename__ = "nodes"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(128), unique=True)
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    state: Mapped[NodeState] = mapped_column(text_enum(NodeState), default=NodeState.ACTIVE)
    created: Mapped[datetime] = mapped_column(default=utc_now)
    last_heartbeat: Mapped[datetime | None]
    quarantine: Mapped[dict[str, Any] | None] = mapped_column(JsonType)
    """What it was quarantined for (`server.grading.quarantine`)."""
    trusted_since: Mapped[datetime | None]
    """Failures before this count against it no more: a quarantine ended."""


class Worker(Base):
    """A worker process of a node: it consumes the queue of one hardware class, one job at a time."""

    __tablename__ = "workers"
    __table_args__ = (UniqueConstraint("node_id", "name"), Index(None, "hardware", "last_heartbeat"))

    id: Mapped[int] = mapped_column(primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    hardware: Mapped[str] = mapped_column(String(32))
    devices: Mapped[int] = mapped_column(default=1)
    state: Mapped[NodeState] = mapped_column(text_enum(NodeState), default=NodeState.ACTIVE)
    """What the worker says of itself; staff's word is the node's state."""
    versions: Mapped[dict[str, Any]] = mapped_column(JsonType)
    health: Mapped[dict[str, Any]] = mapped_column(JsonType, default=dict)
    """What the worker last said of its health (`server.grading.schemas.Health`)."""
    consuming: Mapped[bool] = mapped_column(default=True)
    """Whether its last probe through the queue was answered: a live process may have stopped listening."""
    last_heartbeat: Mapped[datetime]
    node: Mapped[Node] = relationship()
