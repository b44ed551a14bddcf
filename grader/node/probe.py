"""Proof that what is sent to this worker reaches it: it sends itself a message through the broker.

A process may live and send heartbeats while its connection to the queue has silently stopped delivering, for
instance after a restart of the broker. Only a message that arrives shows that it still consumes.
"""

import secrets
import time
from collections.abc import Callable

import structlog

PROBE_TASK = "solmark.probe"
"""Celery task of a worker, on a queue of its own; its argument is the probe's text."""
PERIOD_SECONDS = 10.0
PATIENCE_SECONDS = 30.0
"""An idle worker that has not been handed its probe for so long does not consume."""
HOPELESS_SECONDS = 90.0
"""After so long only a new process helps."""
log = structlog.get_logger(__name__)


class Probe:
    """Asked by the thread of heartbeats, answered by the thread that consumes.

    `send` puts a text into this worker's own queue; it raises OSError when the broker is away, which proves
    nothing about consumption. Seconds are of the monotonic clock.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        *,
        period: float = PERIOD_SECONDS,
        patience: float = PATIENCE_SECONDS,
        hopeless: float = HOPELESS_SECONDS,
    ) -> None:
        self._send = send
        self._period, self._patience, self._hopeless = period, patience, hopeless
        self._text = ""
        self._sent = -period
        self._unanswered: float | None = None
        self._answered: float | None = None
        self.busy = False
        """A job runs in the thread that consumes, so that nothing else can arrive."""

    def ask(self) -> None:
        """Send a probe if one is due. Called every few seconds."""
        now = time.monotonic()
        if self.busy:
            self._unanswered = None
            return
        if now - self._sent < self._period:
            return
        self._sent = now
        self._text = secrets.token_hex(8)
        if self._unanswered is None:
            self._unanswered = now  # Before it is sent: the answer may be faster than this thread.
        try:
            self._send(self._text)
        except OSError as error:
            self._unanswered = None
            log.warning("probe not sent", cause=str(error))

    def answer(self, text: object) -> None:
        """A probe has arrived; one from before a restart proves as much."""
        self._unanswered = None
        self._answered = time.monotonic()
        log.debug("probe answered", own=text == self._text)

    @property
    def consuming(self) -> bool:
        """False once an idle worker has waited too long for its probe."""
        return self._waited() < self._patience

    @property
    def hopeless(self) -> bool:
        """Whether it has waited so long that it will not come right by itself."""
        return self._waited() >= self._hopeless

    @property
    def age(self) -> float | None:
        """Seconds since the last proof; None before the first."""
        return None if self._answered is None else time.monotonic() - self._answered

    def _waited(self) -> float:
        begun = self._unanswered
        return 0.0 if begun is None or self.busy else time.monotonic() - begun
