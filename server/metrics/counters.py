"""Counts of what leaves no row: kept on the broker, so that all processes of the server add to one number.

A broker that loses its data begins again at zero, which readers of counters expect. A broker that is away
loses what happens meanwhile: nothing that matters waits for a count.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import redis
import structlog

from grader.contract import Phase

KEY = "solmark:metrics"
"""Broker hash of all counts: field `name|label|le` to number; label and le are empty where there is none."""
BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)
"""Upper ends of a histogram's buckets, in seconds; above the last there is +Inf."""
REPORTS = "report_messages"
RETRIES = "report_retries"
WAITS = "wait_seconds"
PHASES = "phase_seconds"
OUTCOMES = ("stored", "duplicate", "late", "refused", "failed")
"""What can become of a message with a Report."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Histogram:
    """Counts of one label: cumulative buckets by their upper end, and the sum of all values."""

    buckets: tuple[tuple[str, float], ...]
    sum: float


class Counters:
    """Adds to the counts on a broker, and reads them."""

    def __init__(self, broker: "redis.Redis") -> None:
        self._broker = broker

    def report(self, outcome: str) -> None:
        """A message with a Report was dealt with; one that failed, or came again, is a retry too."""
        fields = {_field(REPORTS, outcome): 1.0}
        if outcome in ("failed", "duplicate"):
            fields[_field(RETRIES)] = 1.0
        self._add(fields)

    def graded(self, waited: tuple[str, float] | None, phases: Mapping[Phase, float]) -> None:
        """A Report was stored: (hardware, seconds) that its submission waited, and seconds by phase."""
        fields: dict[str, float] = {}
        if waited is not None:
            fields |= _observed(WAITS, *waited)
        for phase, seconds in phases.items():
            fields |= _observed(PHASES, phase.value, seconds)
        self._add(fields)

    def read(self) -> Mapping[str, float]:
        """All counts, by field. Raises RedisError."""
        found = self._broker.hgetall(KEY)
        return {name.decode(): float(value) for name, value in found.items()}  # type: ignore[union-attr]

    def _add(self, fields: Mapping[str, float]) -> None:
        pipe = self._broker.pipeline(transaction=False)
        for field, value in fields.items():
            pipe.hincrbyfloat(KEY, field, value)
        try:
            pipe.execute()
        except redis.RedisError as error:
            _log.debug("not counted", cause=str(error))


def counts(found: Mapping[str, float], name: str) -> Iterator[tuple[str, float]]:
    """(label, number) of a counter."""
    for field, value in sorted(found.items()):
        head, label, _ = field.split("|")
        if head == name:
            yield label, value


def histograms(found: Mapping[str, float], name: str) -> Iterator[tuple[str, Histogram]]:
    """(label, histogram) of a histogram's labels."""
    for label, total in counts(found, f"{name}_sum"):
        ends = [str(end) for end in BUCKETS] + ["+Inf"]
        numbers = [found.get(_field(name, label, end), 0.0) for end in ends]
        cumulative = tuple((end, sum(numbers[: index + 1])) for index, end in enumerate(ends))
        yield label, Histogram(cumulative, total)


def _observed(name: str, label: str, seconds: float) -> dict[str, float]:
    end = next((str(end) for end in BUCKETS if seconds <= end), "+Inf")
    return {_field(name, label, end): 1.0, _field(f"{name}_sum", label): seconds}


def _field(name: str, label: str = "", end: str = "") -> str:
    return f"{name}|{label}|{end}"
