"""The broker as workers read it, the server's and the nodes': a message that is none is logged and dropped.

Celery stops a worker for what kombu cannot take apart. Nobody but nodes and servers writes to the broker, yet
one of them gone wrong must not stop the grading of all.
"""

from collections.abc import Callable
from queue import Empty
from typing import Any

import structlog
from kombu.exceptions import ContentDisallowed, SerializationError
from kombu.transport import redis as kombu_redis
from redis.exceptions import DataError

WORKER_SETTINGS = {
    "broker_transport": "grader.broker:Transport",
    # Nobody steers these workers over the broker, so nothing on it can stop them.
    "worker_enable_remote_control": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}
"""Celery settings of every worker, beside those of the queue (`contract.QUEUE_SETTINGS`)."""
_MALFORMED = (
    ArithmeticError, AttributeError, ContentDisallowed, DataError, LookupError, RecursionError,
    SerializationError, TypeError, ValueError,
)  # fmt: skip
"""What kombu and Celery raise on what is no message; errors of the connection are none of these."""
_CAUSE_CHARS = 500
_log = structlog.get_logger(__name__)


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_CAUSE_CHARS]


class QoS(kombu_redis.QoS):
    """Counts what was delivered and not yet acknowledged.

    Kombu logs an acknowledgement that the broker does not take, and goes on with the message still counted:
    its worker, which takes one at a time, would wait for ever, without a connection that could break. So the
    message counts no more, the worker asks for the next, finds the connection broken, and connects again. The
    broker may deliver the message once more; whoever gets it sees that it is done.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message; raises what the broker's client raises."""
        try:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]
        finally:
            self._quick_ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Give a message up; raises what the broker's client raises."""
        try:
            super().reject(delivery_tag, requeue=requeue)  # type: ignore[no-untyped-call]
        finally:
            self._quick_ack(delivery_tag)


class Channel(kombu_redis.Channel):
    """A channel that outlives any content of its lists."""

    QoS = QoS

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except Empty:
            raise
        except _MALFORMED as error:  # BRPOP has removed it from the list already.
            _log.error("message dropped", cause=_cause(error))
            return True

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[Any], Any], consumer_tag: str, **options: Any
    ) -> None:
        """Consume from `queue`; a message that its consumer cannot take apart is rejected."""

        def consume(message: Any) -> Any:
            try:
                return callback(message)
            except _MALFORMED as error:
                _log.error("message rejected", queue=queue, cause=_cause(error))
                if not message.acknowledged:
                    message.reject()
                return None

        super().basic_consume(  # type: ignore[no-untyped-call]
            queue, no_ack, consume, consumer_tag, **options
        )


class Transport(kombu_redis.Transport):
    """Kombu's Redis transport with that channel."""

    Channel = Channel
