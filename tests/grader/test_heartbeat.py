"""The thread that tells the server that a worker lives: it goes on whatever happens."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.node.heartbeat import DENIED, Heartbeat
from grader.node.server import DeniedError, HeartbeatAnswer, Server, TemporaryError
from grader.node.settings import NodeSettings


class _Server(Server):
    """Answers with what is left of `says`, then that all is well."""

    def __init__(self, says: list[Exception]) -> None:
        self._says = says
        self.beats = 0

    def heartbeat(self, document: Mapping[str, Any], token: str | None) -> HeartbeatAnswer:
        if self._says:
            raise self._says.pop(0)
        self.beats += 1
        return HeartbeatAnswer("active", cancelled=False)


@pytest.mark.parametrize(
    "error", [DeniedError("401"), TemporaryError("503"), RuntimeError("a fault of ours")]
)
def test_the_next_heartbeat_comes_whatever_became_of_one(tmp_path: Path, error: Exception) -> None:
    settings = NodeSettings(
        broker_url="",
        server_url="",
        token="",
        node="n",
        hardware="cpu",
        home=tmp_path,
        heartbeat_seconds=0.01,
    )
    server = _Server([error, error])
    followed: list[str] = []
    heartbeat = Heartbeat(settings, server, look=lambda: (True, {}), follow=followed.append)
    heartbeat.start()
    deadline = time.monotonic() + 30
    while server.beats < 2:
        assert time.monotonic() < deadline, "no more heartbeats"
        time.sleep(0.01)
    heartbeat.stop()
    assert followed[:2] == ([DENIED] * 2 if isinstance(error, DeniedError) else ["active"] * 2)
    assert followed[-1] == "active"
