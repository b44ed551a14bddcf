"""The Celery app of a grading node: one task, from JobSpec to Report.

A worker runs one job at a time, in the main thread (pool `solo`), and takes the next only after it has
acknowledged the last. A message is acknowledged after its Report lies on this node's disk; a worker that dies
before that loses nothing but time, since the lease in the server's database runs out. Run it with
`python -m grader.worker`; its settings are `grader.node.settings.NodeSettings`.
"""

import logging
import sys
import threading
import time
from typing import Any

import redis
import structlog
from celery import Celery, signals  # type: ignore[import-untyped]
from celery.exceptions import Reject  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError

from grader.contract import (
    GRADE_TASK,
    SERVER_QUEUE,
    STORE_TASK,
    VISIBILITY_SECONDS,
    ContractError,
    JobSpec,
    Report,
    grade_queue,
    read,
    stored_key,
)
from grader.node.heartbeat import Heartbeat
from grader.node.job import AbandonedError, ReturnedError, grade
from grader.node.settings import NodeSettings, SettingsError
from grader.node.spool import Spool

RESEND_SECONDS = 15.0
"""A Report without acknowledgement for so long is sent again."""
log = structlog.get_logger(__name__)


def create_app(settings: NodeSettings) -> Celery:
    """The Celery app of this node, with its one task registered."""
    app = Celery("solmark-worker", broker=settings.broker_url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=True,
        # The lease finds a lost worker; requeueing here would know no limit.
        task_reject_on_worker_lost=False,
        task_default_queue=grade_queue(settings.hardware),
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
        },
    )
    node = _Node(app, settings)
    # The Celery signals hold only weak references: the app keeps the node alive.
    app.solmark_node = node
    app.task(node.grade, name=GRADE_TASK, bind=False)
    return app


class _Node:
    """State of one worker process: what it does now, what it has still to deliver."""

    def __init__(self, app: Celery, settings: NodeSettings) -> None:
        self._app = app
        self._settings = settings
        self._broker = redis.Redis.from_url(
            settings.broker_url, socket_timeout=5.0, socket_connect_timeout=5.0
        )
        self._spool = Spool(settings.home / "spool" / settings.node)
        self._heartbeat = Heartbeat(settings)
        self._stopping = threading.Event()
        self._stop_at: float | None = None
        signals.worker_ready.connect(self._ready)
        signals.worker_shutting_down.connect(self._shutting_down)
        signals.worker_shutdown.connect(self._shutdown)

    def grade(self, document: str) -> None:
        """Grade the JobSpec in `document` and send its Report."""
        try:
            job = read(JobSpec, document)
        except (ContractError, TypeError) as error:
            # Nothing in it can be believed, so nobody can be told; the attempt's lease runs out.
            log.error("message dropped", cause=str(error))
            return
        with structlog.contextvars.bound_contextvars(submission=job.submission, attempt=job.attempt):
            self._heartbeat.start_job(job)
            try:
                self._deliver(self._report(job))
            except AbandonedError as error:
                log.info("job dropped", cause=str(error))
            except ReturnedError:
                log.info("job returned to the queue")
                raise Reject("shutting down", requeue=True) from None
            finally:
                self._heartbeat.end_job()

    def _report(self, job: JobSpec) -> Report:
        spooled = self._spool.load(job.submission, job.attempt)
        if spooled is not None and spooled.token == job.token:
            return spooled  # Graded before, but the message was not acknowledged.
        log.info("job started", assignment=job.assignment, mode=job.mode.value)
        report = grade(job, self._settings, self._broker, self._must_return)
        log.info("job done", verdict=report.verdict.value, seconds=round(report.seconds, 3))
        self._spool.save(report)
        return report

    def _deliver(self, report: Report) -> None:
        try:
            self._app.send_task(
                STORE_TASK,
                args=[report.model_dump_json()],
                queue=SERVER_QUEUE,
                retry=True,
                retry_policy={"max_retries": 2, "interval_start": 0.2, "interval_max": 1.0},
                ignore_result=True,
            )
        except (OperationalError, redis.RedisError, OSError) as error:
            log.warning("report kept on disk", submission=report.submission, cause=str(error))

    def _must_return(self) -> bool:
        return self._stop_at is not None and time.monotonic() > self._stop_at

    def _ready(self, **_: Any) -> None:
        for report in self._spool.pending():
            self._deliver(report)
        self._heartbeat.start()
        threading.Thread(target=self._watch_spool, name="spool", daemon=True).start()

    def _shutting_down(self, **_: Any) -> None:
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._settings.grace_seconds

    def _shutdown(self, **_: Any) -> None:
        self._stopping.set()
        self._heartbeat.stop()

    def _watch_spool(self) -> None:
        """Remove what the server has stored; send again what it has not."""
        resend_after = time.monotonic() + RESEND_SECONDS
        while not self._stopping.wait(1.0):
            resend = time.monotonic() > resend_after
            if resend:
                resend_after = time.monotonic() + RESEND_SECONDS
            for report in self._spool.pending():
                try:
                    stored = self._broker.exists(stored_key(report.submission, report.attempt))
                except redis.RedisError:
                    break
                if stored:
                    self._spool.remove(report)
                elif resend:
                    self._deliver(report)


def main(settings: NodeSettings | None = None) -> None:
    """Run a worker until it is told to stop."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if settings is None:
        try:
            settings = NodeSettings.from_environment()
        except SettingsError as error:
            sys.exit(str(error))
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    create_app(settings).worker_main(
        [
            "worker",
            "--pool=solo",
            "--concurrency=1",
            f"--queues={grade_queue(settings.hardware)}",
            f"--hostname={settings.node}",
            "--without-gossip",
            "--without-mingle",
            "--loglevel=INFO",
        ]
    )


if __name__ == "__main__":
    main()
