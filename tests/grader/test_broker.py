"""The transport of all workers, on a real broker that goes away."""

import logging
from pathlib import Path
from typing import Any

import kombu
from redis.exceptions import RedisError

from server.embedded import Supervisor, start_broker


def test_a_message_whose_acknowledgement_fails_does_not_keep_its_place(tmp_path: Path) -> None:
    """Else a worker, which takes one at a time, would ask for no other, and never connect again."""
    kit: Any = kombu  # It has no types.
    with Supervisor(tmp_path) as supervisor:
        url = start_broker(supervisor, tmp_path)
        with kit.Connection(url, transport="grader.broker:Transport") as connection:
            channel: Any = connection.channel()
            queue = kit.Queue("q", channel=channel)
            kit.Producer(channel).publish("one", routing_key="q", declare=[queue])
            taken: list[Any] = []
            with kit.Consumer(
                channel, [queue], callbacks=[lambda _, message: taken.append(message)], prefetch_count=1
            ):
                connection.drain_events(timeout=5)
                assert len(taken) == 1
                assert not channel.qos.can_consume()
                supervisor.child("broker").kill()
                taken[0].ack_log_error(logging.getLogger("test"), (RedisError, OSError))
                assert channel.qos.can_consume()
                supervisor.watch()
