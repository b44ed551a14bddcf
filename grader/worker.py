"""The Celery app of a grading node: one task, from JobSpec to Report.

A worker runs one job at a time, in the main thread (pool `solo`), and takes the next only after it has
acknowledged the last. A message is acknowledged after its Report lies on this node's disk; a worker that dies
before that loses nothing but time, since the lease in the server's database runs out. Run it with
`python -m grader.worker`; its settings are `grader.node.settings.NodeSettings`.
"""

import contextlib
import hashlib
import os
import shutil
import socket
import sys
import threading
import time
from typing import Any

import redis
import structlog
from celery import Celery, signals  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError

from grader.broker import WORKER_SETTINGS
from grader.contract import (
    GRADE_TASK,
    QUEUE_SETTINGS,
    SERVER_QUEUE,
    STORE_TASK,
    ContractError,
    JobSpec,
    grade_queue,
    read,
    trial_queue,
)
from grader.node import logs
from grader.node.hardware import Hardware
from grader.node.heartbeat import Heartbeat
from grader.node.job import AbandonedError, Node, ReturnedError, grade
from grader.node.probe import PROBE_TASK, Probe
from grader.node.server import DeniedError, Server, ServerError
from grader.node.settings import NodeSettings, SettingsError
from grader.node.spool import Spool, Spooled

RESEND_SECONDS = (15.0, 300.0)
"""A Report without acknowledgement is sent again after the first, then ever more slowly up to the last."""
log = structlog.get_logger(__name__)


def create_app(settings: NodeSettings) -> Celery:
    """The Celery app of this node, without its task."""
    app = Celery("solmark-worker", broker=settings.broker_url, set_as_current=False)
    app.conf.update(
        **QUEUE_SETTINGS,
        **WORKER_SETTINGS,
        task_default_queue=grade_queue(settings.hardware),
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    return app


class Worker:
    """One worker process: what it does now, and what it has still to deliver."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._app = create_app(settings)
        self._app.task(self._grade, name=GRADE_TASK)
        self._spool = Spool(settings.home / "spool" / settings.node)
        server = Server(settings)
        self._app.task(self._answer_probe, name=PROBE_TASK)
        self._queue = grade_queue(settings.hardware)
        self._probe_queue = _probe_queue(settings)
        # Listened to in every state: a node in quarantine takes nothing but its trials.
        self._trial_queue = trial_queue(
            hashlib.sha256(settings.token.encode()).hexdigest(), settings.hardware
        )
        self._probe = Probe(
            self._send_probe,
            period=settings.probe_seconds,
            patience=3 * settings.probe_seconds,
            hopeless=9 * settings.probe_seconds,
        )
        self._heartbeat = Heartbeat(settings, server, look=self._look, follow=self._follow)
        self._hardware = Hardware(settings)
        self._node = Node(
            settings=settings,
            server=server,
            broker=redis.Redis.from_url(settings.broker_url, socket_timeout=5.0, socket_connect_timeout=5.0),
            heartbeat=self._heartbeat,
            hardware=self._hardware,
            must_return=self._must_return,
        )
        self._stopping = threading.Event()
        self._stop_at: float | None = None
        self._consumer: Any = None
        self._taking = True

    def run(self) -> None:
        """Work until told to stop. Raises DeniedError when the server does not know this node's token."""
        with contextlib.suppress(ServerError):
            try:
                self._heartbeat.beat()
            except DeniedError:
                raise SystemExit(f"{self._settings.server_url} does not accept this node's token") from None
        signals.worker_shutting_down.connect(self._shutting_down)
        signals.worker_ready.connect(self._ready)
        self._heartbeat.start()
        self._hardware.start()
        deliveries = threading.Thread(target=self._deliver_spooled, name="spool", daemon=True)
        deliveries.start()
        try:
            self._app.worker_main(
                [
                    "--quiet",
                    "worker",
                    "--pool=solo",
                    "--concurrency=1",
                    f"--queues={self._queue},{self._probe_queue},{self._trial_queue}",
                    f"--hostname={self._settings.node}",
                    "--without-gossip",
                    "--without-mingle",
                    "--loglevel=WARNING",
                ]
            )
        finally:
            self._stopping.set()
            self._heartbeat.stop()
            self._hardware.stop()
            deliveries.join(5.0)

    def _grade(self, document: str) -> None:
        """The Celery task: grade the JobSpec in `document` and send its Report."""
        try:
            job = read(JobSpec, document)
        except (ContractError, TypeError) as error:
            # Nothing in it can be believed, so nobody can be told; the server publishes the job again.
            log.error("message dropped", cause=str(error))
            return
        with structlog.contextvars.bound_contextvars(submission=job.submission, attempt=job.attempt):
            self._probe.busy = True
            try:
                spooled = self._spool.find(job)
                if spooled is None:
                    log.info("job started", assignment=job.assignment, mode=job.mode.value)
                    report = grade(job, self._node)
                    log.info("job done", verdict=report.verdict.value, seconds=round(report.seconds, 3))
                    spooled = self._spool.save(report)
                self._deliver(spooled)
            except AbandonedError as error:
                log.info("job dropped", cause=str(error))
            except ReturnedError:
                self._give_back(job)
            finally:
                self._probe.busy = False
                self._heartbeat.end_job()

    def _answer_probe(self, text: str) -> None:
        """The Celery task by which this worker proves to itself that it consumes."""
        self._probe.answer(text)

    def _send_probe(self, text: str) -> None:
        try:
            self._app.send_task(
                PROBE_TASK, args=[text], queue=self._probe_queue, retry=False, ignore_result=True,
                expires=10 * self._settings.probe_seconds,
            )  # fmt: skip
        except (OperationalError, redis.RedisError) as error:
            raise OSError(str(error)) from error

    def _look(self) -> tuple[bool, dict[str, Any]]:
        """Before each heartbeat: whether the queue reaches this worker, and its health."""
        if self._consumer is not None and not self._stopping.is_set() and self._stop_at is None:
            self._probe.ask()
        if self._probe.hopeless:
            # It does nothing, so nothing is lost; whatever keeps it up starts another.
            log.critical("ended: it lives, but no message reaches it", queue=self._queue)
            os._exit(os.EX_TEMPFAIL)
        age = self._probe.age
        return self._probe.consuming, {
            "probe_seconds": None if age is None else round(age, 1),
            "spooled_reports": self._spool.count(),
            "disk_free_bytes": _disk_free(self._settings),
        }

    def _follow(self, state: str) -> None:
        """Take jobs while the server wants this node active, and none otherwise; what runs goes on."""
        taking = state == "active"
        if self._consumer is None or taking is self._taking:
            return
        self._taking = taking
        log.info("takes jobs again" if taking else "takes no more jobs", state=state)
        change = self._consumer.add_task_queue if taking else self._consumer.cancel_task_queue
        self._consumer.call_soon(change, self._queue)  # In the thread that consumes.

    def _ready(self, sender: Any, **_: Any) -> None:
        self._consumer = sender

    def _give_back(self, job: JobSpec) -> None:
        try:
            self._node.server.give_back(job.token)
            log.info("job given back")
        except ServerError as error:
            log.warning("job not given back: its lease will run out", cause=str(error))

    def _deliver(self, spooled: Spooled) -> None:
        try:
            self._app.send_task(
                STORE_TASK, args=[spooled.text], queue=SERVER_QUEUE, retry=False, ignore_result=True
            )
        except Exception as error:  # noqa: BLE001  whatever keeps it from the broker: it is sent again
            log.warning("report kept on disk for now", cause=f"{type(error).__name__}: {error}")

    def _deliver_spooled(self) -> None:
        """Remove what the server has stored; send again what it has not, at once what an earlier run left."""
        due: dict[str, tuple[float, float]] = {
            spooled.stored_key: (0.0, RESEND_SECONDS[0]) for spooled in self._spool.pending()
        }
        while not self._stopping.wait(0.5):
            now = time.monotonic()
            pending = {spooled.stored_key: spooled for spooled in self._spool.pending()}
            due = {key: due.get(key, (now + RESEND_SECONDS[0], RESEND_SECONDS[0])) for key in pending}
            for key, spooled in pending.items():
                try:
                    stored = self._node.broker.exists(key)
                except redis.RedisError:
                    break
                at, pause = due[key]
                if stored:
                    spooled.remove()
                elif now >= at:
                    self._deliver(spooled)
                    due[key] = (now + pause, min(2 * pause, RESEND_SECONDS[1]))

    def _must_return(self) -> bool:
        return self._stop_at is not None and time.monotonic() > self._stop_at

    def _shutting_down(self, **_: Any) -> None:
        self._heartbeat.draining = True
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._settings.grace_seconds


def _disk_free(settings: NodeSettings) -> int | None:
    try:
        return shutil.disk_usage(settings.home).free
    except OSError:  # The folder is made when it is first needed.
        return None


def _probe_queue(settings: NodeSettings) -> str:
    """A queue of this worker alone, the same at each start on this machine, so that nothing piles up."""
    name = f"{socket.gethostname()}\0{settings.home}\0{settings.node}\0{settings.hardware}"
    return f"probe.{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def main() -> None:
    """Run a worker with settings from the environment."""
    logs.configure()
    try:
        settings = NodeSettings.from_environment()
    except SettingsError as error:
        sys.exit(str(error))
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    Worker(settings).run()


if __name__ == "__main__":
    main()
