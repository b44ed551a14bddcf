"""Settings of a grading node, from environment variables."""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.sandbox.base import SandboxError
from grader.sandbox.registry import named

JUDGE_COMMAND: Sequence[str] = (sys.executable, "-m", "grader.judge_process")
AHEAD = "--ahead"
"""Added to it: the judge loads its libraries, says `{"ready": true}`, and then waits for its request."""


class SettingsError(ValueError):
    """A setting is missing or unusable; the text names the variable and what it needs."""


@dataclass(frozen=True)
class NodeSettings:
    """What a worker must know. Durations are in seconds, sizes in bytes."""

    broker_url: str = field(repr=False)
    server_url: str
    token: str = field(repr=False)
    """This node's token: names it to the server, and nothing else does."""
    node: str
    hardware: str
    home: Path
    """Blobs, spooled Reports and locks; one folder for all workers of a node."""
    devices: int = 1
    """How many devices of that class one job of this worker gets."""
    sandbox: str | None = None
    """Name of the sandbox backend; None lets the judge choose. One that isolates nothing is refused."""
    grace_seconds: float = 20.0
    """How long a job may go on after SIGTERM before it returns to the queue."""
    session_seconds: float = 900.0
    """Longest grading session; the judge is killed after it."""
    cache_bytes: int = 4 << 30
    """Bundles kept on disk; the least recently used go first."""
    bundle_bytes: int = 512 << 20
    """A larger bundle is refused."""
    heartbeat_seconds: float = 5.0
    probe_seconds: float = 10.0
    """How often an idle worker makes sure that messages reach it; after nine in vain it ends itself."""
    fetch_seconds: float = 30.0
    """How long a server that does not answer is asked again before a job fails."""
    judge_command: Sequence[str] = JUDGE_COMMAND
    judge_ahead: bool = True
    """Whether the next job's judge is started while the hardware is idle (250 MB of memory)."""

    def __post_init__(self) -> None:
        try:
            named(self.sandbox, for_others=True)
        except SandboxError as error:
            raise SettingsError(f"SOLMARK_SANDBOX: {error}; leave it empty for the default") from error

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "NodeSettings":
        """Read `SOLMARK_*`; raise SettingsError, naming every variable that is missing or malformed."""
        required = ("SOLMARK_BROKER_URL", "SOLMARK_SERVER_URL", "SOLMARK_NODE_TOKEN")
        missing = [name for name in required if not environment.get(name)]
        if missing:
            raise SettingsError(f"{', '.join(missing)}: a worker needs these variables")
        token_file = Path(environment["SOLMARK_NODE_TOKEN"])
        token = environment["SOLMARK_NODE_TOKEN"]
        if token_file.is_absolute():
            token = token_file.read_text().strip()
        return cls(
            broker_url=environment["SOLMARK_BROKER_URL"],
            server_url=environment["SOLMARK_SERVER_URL"].rstrip("/"),
            token=token,
            node=environment.get("SOLMARK_NODE") or socket.gethostname(),
            hardware=environment.get("SOLMARK_HARDWARE") or "cpu",
            devices=int(_number(environment, "SOLMARK_DEVICES", cls.devices)),
            home=node_home(environment),
            sandbox=environment.get("SOLMARK_SANDBOX") or None,
            grace_seconds=_number(environment, "SOLMARK_GRACE_SECONDS", cls.grace_seconds),
            session_seconds=_number(environment, "SOLMARK_SESSION_SECONDS", cls.session_seconds),
            heartbeat_seconds=_number(environment, "SOLMARK_HEARTBEAT_SECONDS", cls.heartbeat_seconds),
            probe_seconds=_number(environment, "SOLMARK_PROBE_SECONDS", cls.probe_seconds),
        )


def node_home(environment: Mapping[str, str]) -> Path:
    """`$SOLMARK_HOME/node`, or a folder of the user's data where that is not set."""
    home = environment.get("SOLMARK_HOME")
    if home:
        return Path(home).absolute() / "node"
    data = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "solmark" / "node"


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e6:
        raise SettingsError(f"{name}: {text!r} is not a positive number")
    return value
