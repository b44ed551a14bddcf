"""Who goes before whom in a queue, counted once for everybody who looks within a moment.

Each count ranks a whole queue, and everybody in it looks every other second: a class before a deadline would
keep the database at nothing else. A place that people see may be that moment old.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

from server.db.models import Submission
from server.grading import queue_queries
from server.grading.queue_queries import Ahead

KEPT_SECONDS = 2.0
"""A queue is ranked this often at most, but for submissions that have come since."""


@dataclass
class _Standings:
    """Of one database: for each hardware class the last count, and when it was made (monotonic)."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    counted: dict[str, tuple[float, Mapping[int, Ahead]]] = field(default_factory=dict)


_known: "WeakKeyDictionary[Engine | Connection, _Standings]" = WeakKeyDictionary()
_registering = threading.Lock()


def ahead_of(session: Session, submission: Submission, now: datetime, *, anew: bool = False) -> Ahead | None:
    """What goes before a submission in the order of the dispatcher; None if it is not waiting."""
    with _registering:
        standings = _known.setdefault(session.get_bind(), _Standings())
    with standings.turn:
        made, queue = standings.counted.get(submission.hardware, (float("-inf"), {}))
        if anew or time.monotonic() - made > KEPT_SECONDS or submission.id not in queue:
            queue = queue_queries.standings(session, submission.hardware, now)
            standings.counted[submission.hardware] = (time.monotonic(), queue)
    return queue.get(submission.id)
