"""Writes an attempt's progress to a capped stream of the broker; that is a courtesy and never fails a job."""

import time

import redis
import structlog

from grader.contract import EVENTS_KEPT, Event, Phase, events_key

EVENTS_SECONDS = 2 * 86400
"""How long the broker keeps the stream of a submission after its last event."""
log = structlog.get_logger(__name__)


class EventWriter:
    """Numbers the events of one attempt, the node's own and the judge's, in one sequence."""

    def __init__(self, broker: "redis.Redis", submission: str, attempt: int) -> None:
        self._broker = broker
        self._key = events_key(submission)
        self._attempt = attempt
        self._seq = 0

    def say(self, phase: Phase, text: str) -> None:
        """An event of the node itself."""
        self.forward(Event(attempt=self._attempt, seq=1, time=time.time(), phase=phase, text=text))

    def forward(self, event: Event) -> None:
        """Append an event, renumbered; a broker that does not take it is logged."""
        self._seq += 1
        numbered = event.model_copy(update={"attempt": self._attempt, "seq": self._seq})
        pipe = self._broker.pipeline(transaction=False)
        pipe.xadd(self._key, {"event": numbered.model_dump_json()}, maxlen=EVENTS_KEPT, approximate=True)
        pipe.expire(self._key, EVENTS_SECONDS)
        try:
            pipe.execute()
        except redis.RedisError as error:
            log.warning("event not sent", attempt=self._attempt, seq=self._seq, cause=str(error))
