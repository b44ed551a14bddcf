"""Tells the queue what a committed transaction asked for. A broker that is away delays work, loses none."""

from typing import Any

import redis
from celery import Celery  # type: ignore[import-untyped]

from grader.broker import WORKER_SETTINGS
from grader.contract import GRADE_TASK, QUEUE_SETTINGS, SERVER_QUEUE, cancel_key, grade_queue, trial_queue
from server.db.session import Job, Publisher
from server.grading.progress import mark_changed

DISPATCH_TASK = "solmark.dispatch"
SWEEP_TASK = "solmark.sweep"
CONNECT_SECONDS = 2.0
"""A request never waits longer than this for a broker that is away."""
CANCEL_SECONDS = 2 * 86400
"""How long a cancellation is remembered: above the longest job."""
TRIAL_SECONDS = 600.0
"""A trial that its node has not taken by then is none any more."""


def celery_app(broker_url: str) -> Celery:
    """A Celery app on that broker, without tasks: enough to send."""
    app = Celery("solmark-server", broker=broker_url, set_as_current=False)
    app.conf.update(**QUEUE_SETTINGS, **WORKER_SETTINGS, task_default_queue=SERVER_QUEUE)
    return app


def publisher(app: Celery) -> Publisher:
    """A function that publishes one job. It raises what the broker raises, at once: nothing is tried again,
    since dispatcher and sweeper find in the database whatever was not published."""
    options = {**QUEUE_SETTINGS["broker_transport_options"], "socket_connect_timeout": CONNECT_SECONDS}
    sender = celery_app(app.conf.broker_url)
    sender.conf.broker_transport_options = {**options, "socket_timeout": CONNECT_SECONDS, "max_retries": 0}
    broker = redis.Redis.from_url(
        app.conf.broker_url, socket_timeout=CONNECT_SECONDS, socket_connect_timeout=CONNECT_SECONDS
    )

    def send(task: str, queue: str, *arguments: Any, expires: float | None = None) -> None:
        sender.send_task(task, args=list(arguments), queue=queue, retry=False, expires=expires)

    def publish(job: Job) -> None:
        arguments = job.arguments
        match job.name:
            case "dispatch":
                send(DISPATCH_TASK, SERVER_QUEUE, expires=60)
            case "run":
                send(GRADE_TASK, grade_queue(arguments["hardware"]), arguments["spec"])
            case "try":
                queue = trial_queue(arguments["token_digest"], arguments["hardware"])
                send(GRADE_TASK, queue, arguments["spec"], expires=TRIAL_SECONDS)
            case "cancel":
                broker.set(cancel_key(arguments["token"]), 1, ex=CANCEL_SECONDS)
            case "changed":
                mark_changed(broker, arguments["submission"])
            case name:
                raise ValueError(f"no such job: {name}")

    return publish
