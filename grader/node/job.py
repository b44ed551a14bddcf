"""One job from start to Report: lease, blobs, lock, judge. Knows nothing of the queue it came from."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import redis
import structlog

from grader.contract import REPORT_BYTES, JobSpec, Phase, Report, cancel_key
from grader.node import judge
from grader.node.blobs import Blobs, BundleError
from grader.node.events import EventWriter
from grader.node.failure import grader_error
from grader.node.hardware import Hardware
from grader.node.heartbeat import Heartbeat
from grader.node.server import Server, ServerError, StaleError
from grader.node.settings import NodeSettings

CANCEL_POLL_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 2.0
"""A Report must reach the server before the lease ends."""
log = structlog.get_logger(__name__)


class AbandonedError(Exception):
    """The job must not go on, and nobody waits for a Report: cancelled, taken over, or its lease is over."""


class ReturnedError(Exception):
    """This node shuts down: another one may take the job."""


@dataclass(frozen=True)
class Node:
    """What a job needs of the worker that runs it."""

    settings: NodeSettings
    server: Server
    broker: "redis.Redis"
    heartbeat: Heartbeat
    hardware: Hardware
    must_return: Callable[[], bool]


class Interruption:
    """Asked several times a second during a job: raises when the job must be dropped or given back.

    Whether the job is over before it is claimed, only the server knows. From then on its seconds count, not
    its date: this node's clock may say anything.
    """

    def __init__(self, job: JobSpec, node: Node) -> None:
        self._job = job
        self._node = node
        self._next = 0.0
        self._ends = float("inf")

    def claimed(self, seconds: float | None) -> None:
        """The job is ours for so long; None: a server of the version before told the date alone."""
        self._ends = time.monotonic() + (self._job.deadline - time.time() if seconds is None else seconds)

    @property
    def left(self) -> float:
        """Seconds until nobody waits for the Report any more."""
        return self._ends - time.monotonic()

    def __call__(self) -> None:
        """Raise AbandonedError or ReturnedError, or do nothing."""
        if self._node.must_return():
            raise ReturnedError
        if self.left < 0:
            raise AbandonedError("its lease is over")
        if self._node.heartbeat.cancelled(self._job):
            raise AbandonedError("the server took it back")
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + CANCEL_POLL_SECONDS
        try:
            cancelled = self._node.broker.exists(cancel_key(self._job.token))
        except redis.RedisError:
            return  # Without the broker a heartbeat will tell, a little later.
        if cancelled:
            raise AbandonedError("it was cancelled")


def grade(job: JobSpec, node: Node) -> Report:
    """Claim and grade one job. A failure becomes a `grader error`; only the two exceptions above pass."""
    started = time.time()
    interrupted = Interruption(job, node)
    try:
        interrupted.claimed(node.server.claim(job.token, interrupted))
    except ServerError as error:
        # Without a claim the attempt is not ours: the server publishes it again, or has given it to another.
        raise AbandonedError(f"not claimed: {error}") from error
    node.heartbeat.start_job(job)
    try:
        report = _session(job, node, interrupted)
    except StaleError as error:
        raise AbandonedError(f"taken back: {error}") from error
    except ServerError as error:
        return _failed(job, node, "blob_unavailable", str(error), started)
    except BundleError as error:
        return _failed(job, node, "bundle_unusable", str(error), started)
    except judge.JudgeError as error:
        return _failed(job, node, "judge_failed", f"{error}\n{error.detail}", started)
    except OSError as error:
        return _failed(job, node, "node_failed", repr(error), started)
    size = len(report.model_dump_json().encode())
    if size > REPORT_BYTES:
        cause = f"Report of {size} bytes; at most {REPORT_BYTES} are read"
        return _failed(job, node, "report_too_large", cause, started)
    return report


def _failed(job: JobSpec, node: Node, code: str, cause: str, started: float) -> Report:
    log.error("grader error", code=code, cause=cause)
    return grader_error(job, node.settings.node, code, cause, started=started)


def _session(job: JobSpec, node: Node, interrupted: Interruption) -> Report:
    settings = node.settings
    events = EventWriter(node.broker, job.submission, job.attempt)
    events.say(Phase.FETCH, settings.node)
    blobs = Blobs(settings, node.server, interrupted)
    files = blobs.files(job)
    bundle = blobs.bundle(job)
    request = judge.request(job, bundle, files, sandbox=settings.sandbox, node=settings.node)
    with node.hardware.held(interrupted) as held:
        report = judge.run(
            settings.judge_command,
            request,
            seconds=min(settings.session_seconds, interrupted.left - LEASE_MARGIN_SECONDS),
            on_event=events.forward,
            interrupted=interrupted,
            lock=held.lock,
            waiting=held.judge,
        )
    if (report.submission, report.attempt, report.token) != (job.submission, job.attempt, job.token):
        raise judge.JudgeError(f"the judge reported on {report.submission}/{report.attempt}, not on this job")
    return report
