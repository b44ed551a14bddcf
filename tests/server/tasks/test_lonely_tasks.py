"""The server's own process on the queue, when its connection falls silent and when its clock is set back."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import redis

from grader.contract import grade_queue
from server.embedded import Child
from server.grading import service
from server.tasks.watch import Watch

if TYPE_CHECKING:
    from tests.server.tasks.conftest import Stage

PROGRAM = Path(__file__).with_name("impatient_tasks.py")


class Line:
    """Passes on what two ends say to each other, until it falls silent: it stays open and says nothing more.

    Connections that are made later work.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open = ExitStack()
        self._open.enter_context(self._listener)
        self._silent = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def fall_silent(self) -> None:
        self._silent.set()
        self._silent = threading.Event()

    def close(self) -> None:
        self._silent.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._open.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self._listener.accept()
                other = socket.create_connection(("127.0.0.1", self._port))
                for each in (one, other):
                    each.settimeout(0.1)
                    self._open.enter_context(each)
                for ends in ((one, other), (other, one)):
                    thread = threading.Thread(target=self._pass_on, args=(*ends, self._silent))
                    self._threads.append(thread)
                    thread.start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, silent: threading.Event) -> None:
        with suppress(OSError):
            while not silent.is_set():
                try:
                    data = source.recv(65536)
                except TimeoutError:
                    continue
                if silent.is_set():
                    return
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)


@pytest.fixture
def line(patient_stage: "Stage") -> Iterator[Line]:
    """To the broker."""
    patient_stage.tasks.kill()
    found = Line(urlsplit(patient_stage.broker_url).port or 0)
    yield found
    found.close()


@pytest.fixture
def set_back(patient_stage: "Stage") -> Path:
    """When there is such a file, the clock of the tasks is set back by an hour."""
    return patient_stage.folder / "set-back"


def _start(stage: "Stage", name: str, line: Line, set_back: Path) -> Child:
    port = urlsplit(stage.broker_url).port
    environment = {
        **stage.tasks.environment,
        "SOLMARK_BROKER_URL": stage.broker_url.replace(f":{port}/", f":{line.port}/"),
    }
    return stage.supervisor.start(
        name, [sys.executable, str(PROGRAM), str(set_back)], environment=environment
    )


def test_tasks_that_nothing_reaches_any_more_end_and_the_next_go_on(
    patient_stage: "Stage", line: Line, set_back: Path
) -> None:
    stage = patient_stage
    stage.worker("first")
    deaf = _start(stage, "deaf", line, set_back)
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"
    line.fall_silent()
    waiting = stage.submit("pass")
    assert deaf.process is not None
    assert deaf.process.wait(60) == os.EX_TEMPFAIL
    assert stage.look(waiting)["state"] == "queued"
    _start(stage, "next", line, set_back)  # By what kept it up.
    assert stage.wait_for(waiting, "done")["verdict"] == "accepted"
    stage.kill_workers()


def test_a_clock_that_is_set_back_stops_no_sweep(
    patient_stage: "Stage", line: Line, set_back: Path, eventually: Any
) -> None:
    stage = patient_stage
    _start(stage, "by-the-clock", line, set_back)
    stage.worker("first")
    assert stage.wait_for(stage.submit("pass"), "done")["verdict"] == "accepted"
    stage.kill_workers()
    set_back.touch()
    lost = stage.submit("pass")

    def dispatched() -> bool:
        """It is as if the worker lived, but took nothing."""
        with stage.database.begin() as session:
            node = service.node(session, "node")
            service.heartbeat(session, stage.settings, node=node, worker="first", hardware="cpu", versions={})
        return bool(stage.look(lost)["state"] == "dispatched")

    eventually(dispatched, "for its message")
    assert stage.broker.delete(grade_queue("cpu")) == 1
    stage.worker("late")
    assert stage.wait_for(lost, "done")["verdict"] == "accepted"  # Only a sweep finds what got lost.
    stage.kill_workers()


def test_who_has_nothing_to_do_or_too_much_is_not_deaf() -> None:
    now, waiting = 0.0, 0

    def count() -> int:
        if waiting < 0:
            raise redis.ConnectionError
        return waiting

    watch = Watch(count, patience=4.0)

    def look(seconds: float, number: int) -> bool:
        nonlocal now, waiting
        now, waiting = now + seconds, number
        return watch.deaf(now)

    assert not any(look(10, number) for number in (0, 0, 0))  # Nobody wants anything.
    assert not look(1, 5)
    assert not any(look(10, number) for number in (4, 3, 2))  # Somebody takes them.
    assert not any(look(10, -1) for _ in range(3))  # The broker is away.
    watch.begin()
    assert not any(look(10, 9) for _ in range(3))  # It works.
    watch.end()
    assert not look(10, 9)
    assert not look(3.9, 9)
    watch.begin()
    watch.end()
    assert not look(1, 9)  # It has taken one.
    assert not look(1, 9)
    assert look(5, 10)
