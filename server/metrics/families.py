"""Every metric of Solmark: its name, what it means, and how its values are found."""

import os
import time
from collections import Counter as Tally
from collections.abc import Iterable
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import redis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from grader.contract import SERVER_QUEUE, grade_queue
from server.db.base import utc_now
from server.db.models import Worker
from server.db.models.node import NodeState
from server.db.session import Database
from server.grading.states import OPEN, AttemptState, SubmissionState
from server.metrics import counters, queries
from server.metrics.counters import Counters
from server.settings import Settings

PREFIX = "solmark_"


def exposition(settings: Settings, database: Database, broker: "redis.Redis | None") -> bytes:
    """All metrics as text; without what a database or broker knows that does not answer."""
    began = time.monotonic()
    families: list[Metric] = [_build()]
    up = {"database": 0, "broker": 0}
    hardware: set[str] = set()
    try:
        with database.read() as session:
            families += of_database(session, settings, hardware)
        up["database"] = 1
    except SQLAlchemyError:
        pass
    if broker is not None:
        try:
            families += of_broker(broker, hardware)
            up["broker"] = 1
        except redis.RedisError:
            pass
    answers = GaugeMetricFamily(
        f"{PREFIX}up", "1 if that part answered this scrape, else 0.", labels=["part"]
    )
    for part, value in up.items():
        answers.add_metric([part], value)
    families += [answers, _disk(settings.server_home), _seconds(began)]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(families))
    return generate_latest(registry)


def of_database(session: Session, settings: Settings, hardware: set[str]) -> list[Metric]:
    """What the database's rows say; adds every hardware class that they name to `hardware`."""
    now = utc_now()
    submissions = GaugeMetricFamily(
        f"{PREFIX}submissions", "Submissions by state and hardware class.", labels=["state", "hardware"]
    )
    counted = {(state, name): count for state, name, count in queries.submissions(session)}
    workers = queries.workers(session)
    hardware |= {name for _, name in counted} | {worker.hardware for worker in workers}
    for name in sorted(hardware):
        for state in SubmissionState:
            submissions.add_metric([state.value, name], counted.get((state, name), 0))
    return [
        submissions,
        *_queues(session, hardware, now),
        *_attempts(session, hardware),
        _workers(workers, settings, now),
        *_quarantine(session),
    ]


def of_broker(broker: "redis.Redis", hardware: Iterable[str]) -> list[Metric]:
    """What the broker holds. Raises RedisError."""
    found = Counters(broker).read()
    messages = GaugeMetricFamily(
        f"{PREFIX}broker_messages", "Messages in a queue that no process has taken yet.", labels=["queue"]
    )
    for queue in (SERVER_QUEUE, *(grade_queue(name) for name in sorted(hardware))):
        messages.add_metric([queue], broker.llen(queue))
    reports = CounterMetricFamily(
        f"{PREFIX}report_messages",
        "Messages with a Report, by what became of them.",
        labels=["outcome"],
    )
    numbers = dict(counters.counts(found, counters.REPORTS))
    for outcome in counters.OUTCOMES:
        reports.add_metric([outcome], numbers.get(outcome, 0.0))
    retries = CounterMetricFamily(
        f"{PREFIX}report_retries",
        "Reports that could not be stored at a first try, and Reports that came again.",
        value=dict(counters.counts(found, counters.RETRIES)).get("", 0.0),
    )
    waits = HistogramMetricFamily(
        f"{PREFIX}wait_seconds",
        "Seconds from entering the queue to the begin of grading, of what no failed attempt came before.",
        labels=["hardware"],
    )
    phases = HistogramMetricFamily(
        f"{PREFIX}phase_seconds", "Seconds that each phase of a grading took.", labels=["phase"]
    )
    for family, name in ((waits, counters.WAITS), (phases, counters.PHASES)):
        for label, histogram in counters.histograms(found, name):
            family.add_metric([label], buckets=list(histogram.buckets), sum_value=histogram.sum)
    return [messages, reports, retries, waits, phases]


def _queues(session: Session, hardware: set[str], now: datetime) -> list[Metric]:
    depth = GaugeMetricFamily(
        f"{PREFIX}queue_depth", "Submissions that wait for their turn.", labels=["hardware"]
    )
    oldest = GaugeMetricFamily(
        f"{PREFIX}queue_oldest_seconds",
        "For how long the submission that waits longest has waited; 0 if none waits.",
        labels=["hardware"],
    )
    waiting = {name: (count, since) for name, count, since in queries.queues(session)}
    for name in sorted(hardware):
        count, since = waiting.get(name, (0, now))
        depth.add_metric([name], count)
        oldest.add_metric([name], max(0.0, (now - since).total_seconds()))
    return [depth, oldest]


def _attempts(session: Session, hardware: set[str]) -> list[Metric]:
    ended = CounterMetricFamily(f"{PREFIX}attempts", "Attempts that are over, by how.", labels=["state"])
    numbers = dict(queries.ended_attempts(session))
    for state in AttemptState:
        if state not in OPEN:
            ended.add_metric([state.value], numbers.get(state, 0))
    going = GaugeMetricFamily(
        f"{PREFIX}attempts_open", "Attempts that are not over.", labels=["state", "hardware"]
    )
    counted = {(state, name): count for state, name, count in queries.open_attempts(session)}
    for name in sorted(hardware):
        for state in sorted(OPEN):
            going.add_metric([state.value, name], counted.get((state, name), 0))
    expired = CounterMetricFamily(
        f"{PREFIX}lease_expiries",
        "Attempts that were taken from a worker: it was silent for too long, or past their deadline.",
        value=queries.expired_leases(session),
    )
    return [ended, going, expired]


def _workers(workers: Iterable[Worker], settings: Settings, now: datetime) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        f"{PREFIX}workers",
        "Workers by hardware class and state: what they reported, or `silent` or `deaf`.",
        labels=["hardware", "state"],
    )
    since = now - timedelta(seconds=settings.worker_silent_seconds)

    def state(worker: Worker) -> str:
        if worker.last_heartbeat < since:
            return "silent"
        return worker.state.value if worker.consuming else "deaf"

    tally = Tally((worker.hardware, state(worker)) for worker in workers)
    for (name, found), count in sorted(tally.items()):
        family.add_metric([name, found], count)
    return family


def _quarantine(session: Session) -> list[Metric]:
    nodes = GaugeMetricFamily(
        f"{PREFIX}nodes", "Grading nodes by the state that staff or a quarantine gave them.", labels=["state"]
    )
    numbers = dict(queries.nodes(session))
    for state in NodeState:
        nodes.add_metric([state.value], numbers.get(state, 0))
    assignments = GaugeMetricFamily(
        f"{PREFIX}assignments_quarantined",
        "Assignments that are not graded, because grading them failed again and again.",
        value=queries.quarantined(session),
    )
    return [nodes, assignments]


def _build() -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}build_info", "Always 1; names the version.", labels=["version"])
    family.add_metric([version("solmark")], 1)
    return family


def _disk(home: Path) -> GaugeMetricFamily:
    status = os.statvfs(home if home.exists() else "/")
    return GaugeMetricFamily(
        f"{PREFIX}disk_free_bytes",
        "Room left where the server keeps its files.",
        value=status.f_bavail * status.f_frsize,
    )


def _seconds(began: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(
        f"{PREFIX}scrape_seconds", "What finding these values took.", value=time.monotonic() - began
    )


class _Fixed(Collector):
    """Families that were made before."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._families
