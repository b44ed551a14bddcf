"""One job from start to Report: lease, blobs, lock, judge. Knows nothing of the queue it came from."""

import time
from collections.abc import Callable
from contextlib import ExitStack

import httpx
import redis
import structlog

from grader.contract import REPORT_BYTES, JobSpec, Phase, Report, cancel_key
from grader.node import judge
from grader.node.blobs import BlobError, Blobs
from grader.node.events import EventWriter
from grader.node.failure import grader_error
from grader.node.lock import hardware_lock
from grader.node.settings import NodeSettings

CANCEL_POLL_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 2.0
"""A Report must reach the server before the lease ends."""
log = structlog.get_logger(__name__)


class AbandonedError(Exception):
    """The job must not go on, and nobody waits for a Report: cancelled, or its lease is over."""


class ReturnedError(Exception):
    """This node shuts down: another one may take the job."""


class Interruption:
    """Asked several times a second during a job: raises when the job was cancelled or must be given back."""

    def __init__(self, job: JobSpec, broker: "redis.Redis", must_return: Callable[[], bool]) -> None:
        self._job = job
        self._broker = broker
        self._must_return = must_return
        self._next = 0.0

    def __call__(self) -> None:
        """Raise AbandonedError or ReturnedError, or do nothing."""
        if self._must_return():
            raise ReturnedError
        if time.time() > self._job.deadline:
            raise AbandonedError("its lease is over")
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + CANCEL_POLL_SECONDS
        try:
            cancelled = self._broker.exists(cancel_key(self._job.submission, self._job.attempt))
        except redis.RedisError:
            return  # Without its broker a node cannot learn of a cancellation; grading goes on.
        if cancelled:
            raise AbandonedError("it was cancelled")


def grade(
    job: JobSpec, settings: NodeSettings, broker: "redis.Redis", must_return: Callable[[], bool]
) -> Report:
    """Grade one job. Whatever fails here becomes a `grader error`; only the two exceptions above pass."""
    started = time.time()
    interrupted = Interruption(job, broker, must_return)
    events = EventWriter(broker, job.submission, job.attempt)
    interrupted()
    try:
        report = _session(job, settings, events, interrupted)
    except BlobError as error:
        return grader_error(job, settings.node, "blob_unavailable", str(error), started=started)
    except judge.JudgeError as error:
        return grader_error(
            job, settings.node, "judge_failed", str(error), started=started, detail=error.detail
        )
    except OSError as error:
        return grader_error(job, settings.node, "node_failed", repr(error), started=started)
    size = len(report.model_dump_json())
    if size > REPORT_BYTES:
        cause = f"Report of {size} bytes; at most {REPORT_BYTES} are read"
        return grader_error(job, settings.node, "report_too_large", cause, started=started)
    return report


def _session(job: JobSpec, settings: NodeSettings, events: EventWriter, interrupted: Interruption) -> Report:
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(timeout=10.0))
        events.say(Phase.FETCH, settings.node)
        blobs = Blobs(settings, client, interrupted)
        files = blobs.files(job)
        bundle = blobs.bundle(job)
        descriptor = stack.enter_context(hardware_lock(settings.home, job.target.hardware, interrupted))
        report = judge.run(
            settings.judge_command,
            judge.request(job, bundle, files, sandbox=settings.sandbox, node=settings.node),
            seconds=min(settings.session_seconds, job.deadline - time.time() - LEASE_MARGIN_SECONDS),
            on_event=events.forward,
            interrupted=interrupted,
            keep_open=(descriptor,),
        )
    if (report.submission, report.attempt, report.token) != (job.submission, job.attempt, job.token):
        raise judge.JudgeError(f"the judge reported on {report.submission}/{report.attempt}, not on this job")
    return report
