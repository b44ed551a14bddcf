"""The broker as the server's workers read it: a message that is none is logged and dropped.

Celery stops a worker for what kombu cannot take apart. Nobody but nodes and servers writes to the broker, yet
one of them gone wrong must not stop the grading of all.
"""

from collections.abc import Callable
from queue import Empty
from typing import Any

import structlog
from kombu.transport import redis as kombu_redis

TRANSPORT = "server.tasks.broker:Transport"
"""Celery's setting `broker_transport`."""
_MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What kombu and Celery raise on what is no message; errors of the connection are none of these."""
_log = structlog.get_logger(__name__)


class Channel(kombu_redis.Channel):
    """A channel that outlives any content of its lists."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except Empty:
            raise
        except _MALFORMED as error:  # BRPOP has removed it from the list already.
            _log.error("message dropped", cause=f"{type(error).__name__}: {error}")
            return True

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[Any], Any], consumer_tag: str, **options: Any
    ) -> None:
        """Consume from `queue`; a message that its consumer cannot take apart is rejected."""

        def consume(message: Any) -> Any:
            try:
                return callback(message)
            except _MALFORMED as error:
                _log.error("message rejected", queue=queue, cause=f"{type(error).__name__}: {error}")
                if not message.acknowledged:
                    message.reject()
                return None

        super().basic_consume(  # type: ignore[no-untyped-call]
            queue, no_ack, consume, consumer_tag, **options
        )


class Transport(kombu_redis.Transport):
    """Kombu's Redis transport with that channel."""

    Channel = Channel
