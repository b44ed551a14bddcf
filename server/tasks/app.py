"""The server's Celery app: stores Reports, dispatches, sweeps.

Each task is one transaction that may run at any time and any number of times; what a failed one left undone,
the next finds in the database.
"""

import hashlib
import logging
import threading
from typing import Any

import redis
import structlog
from celery import Celery, signals  # type: ignore[import-untyped]
from celery.beat import EmbeddedService  # type: ignore[import-untyped]
from sqlalchemy.orm import Session

from grader.contract import SERVER_QUEUE, STORE_TASK, ContractError, Phase, Report, read, stored_key
from server.db.session import Database
from server.grading import service
from server.metrics import queries as metrics
from server.metrics.counters import Counters
from server.settings import Settings
from server.tasks import watch
from server.tasks.publisher import DISPATCH_TASK, SWEEP_TASK, celery_app, publisher
from server.tasks.schedule import SCHEDULER, Every

SWEEP_SECONDS = 3.0
STALE_SECONDS = 60.0
"""A sweep that nobody took by then is dropped. Clocks of two machines may differ by nearly as much."""
BROKER_SECONDS = 5.0
ROW_SECONDS = 3
"""Longest wait for a row that somebody holds: each task comes again, and others wait behind it."""
STORED_SECONDS = 8 * 86400
"""How long a node can learn that its Report was stored: above the time a node keeps it."""
log = structlog.get_logger(__name__)


def create_app(settings: Settings) -> Celery:
    """The app with its three tasks and its schedule; they share one database and one broker."""
    app = celery_app(settings.broker_url)
    database = Database(
        settings.database, pool=settings.database_pool, publish=publisher(app), row_seconds=ROW_SECONDS
    )
    broker = _broker(settings)
    counters = Counters(broker)

    def store_report(raw: str) -> None:
        try:
            with database.begin() as session:
                stored = service.store_report(session, settings, raw)
                waited = _waited(session, stored)
        except Exception as error:
            # The node sends it again; whose it is stands in what could not be stored.
            log.error("report not stored", cause=f"{type(error).__name__}: {error}", **_named(raw))
            counters.report("failed")
            raise
        if stored.outcome in ("stored", "duplicate"):  # The others have been logged with their cause.
            log.info(f"report {stored.outcome}", submission=stored.submission, attempt=stored.attempt)
        # Only after the commit: the node removes its copy. Lost, it sends again, and hears `duplicate`.
        digest = hashlib.sha256(raw.encode("utf-8", "replace")).hexdigest()
        broker.set(stored_key(digest), 1, ex=STORED_SECONDS)
        counters.report(stored.outcome)
        if stored.outcome == "stored":
            counters.graded(waited, _phases(raw))

    def dispatch() -> None:
        with database.begin() as session:
            jobs = service.dispatch(session, settings)
        for job in jobs:
            log.info(
                "dispatched", submission=job.submission, attempt=job.attempt, hardware=job.target.hardware
            )

    def sweep() -> None:
        with database.begin() as session:
            swept = service.sweep(session, settings)
        if swept.republished or swept.requeued or swept.given_up:
            log.warning(
                "swept", republished=swept.republished, requeued=swept.requeued, given_up=swept.given_up
            )

    app.task(store_report, name=STORE_TASK)
    app.task(dispatch, name=DISPATCH_TASK)
    app.task(sweep, name=SWEEP_TASK)
    # A sweep asks for a dispatch when it is done, so that one entry drives both.
    app.conf.beat_schedule = {
        "sweep": {
            "task": SWEEP_TASK,
            "schedule": Every(SWEEP_SECONDS),
            "options": {"queue": SERVER_QUEUE, "expires": STALE_SECONDS},
        }
    }
    return app


def _broker(settings: Settings) -> "redis.Redis":
    return redis.Redis.from_url(
        settings.broker_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
    )


def _waited(session: Session, stored: service.Stored) -> tuple[str, float] | None:
    """(hardware, seconds) that the submission of a stored Report waited for its attempt."""
    if stored.outcome != "stored" or stored.submission is None or stored.attempt is None:
        return None
    return metrics.wait(session, stored.submission, stored.attempt)


def _phases(raw: str) -> dict[Phase, float]:
    """Seconds by phase of a Report that could be read."""
    seconds: dict[Phase, float] = {}
    for step in read(Report, raw).phases:
        seconds[step.phase] = seconds.get(step.phase, 0.0) + step.seconds
    return seconds


def _named(raw: str) -> dict[str, Any]:
    """The submission and attempt that a Report names, if it can be read."""
    try:
        report = read(Report, raw)
    except (ContractError, TypeError):
        return {}
    return {"submission": report.submission, "attempt": report.attempt}


def run(settings: Settings, *, beat: bool, name: str = "server") -> None:
    """Work on the server's queue until told to stop; with `beat`, keep the schedule in a thread as well."""
    app = create_app(settings)
    _keep_logs()
    service_thread = EmbeddedService(app, thread=True, scheduler_cls=SCHEDULER) if beat else None

    broker = _broker(settings)
    watching = watch.Watch(lambda: int(broker.llen(SERVER_QUEUE)), patience=watch.PATIENCE_SECONDS)
    stopping = threading.Event()

    def ready(**_: Any) -> None:
        if service_thread is not None:
            service_thread.start()
        threading.Thread(target=watching.run, args=(stopping,), name="watch", daemon=True).start()

    def begin(**_: Any) -> None:
        watching.begin()

    def end(**_: Any) -> None:
        watching.end()

    def stop(**_: Any) -> None:
        stopping.set()

    signals.worker_ready.connect(ready)
    signals.task_prerun.connect(begin)
    signals.task_postrun.connect(end)
    signals.worker_shutting_down.connect(stop)
    app.worker_main(
        [
            "--quiet",
            "worker",
            "--pool=solo",
            "--concurrency=1",
            f"--queues={SERVER_QUEUE}",
            f"--hostname={name}",
            "--without-gossip",
            "--without-mingle",
        ]
    )


def run_beat(settings: Settings) -> None:
    """Keep the schedule alone, beside any number of task workers; two of them do no harm."""
    app = create_app(settings)
    _keep_logs()
    app.Beat(scheduler_cls=SCHEDULER).run()


def _keep_logs() -> None:
    """Leave handlers and level as `server.logging` set them; of the library's own lines, warnings only."""
    signals.setup_logging.connect(_logging_is_set_up)
    for name in ("celery", "kombu"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _logging_is_set_up(**_: Any) -> None:
    """Celery configures no logging while this receives its signal."""
