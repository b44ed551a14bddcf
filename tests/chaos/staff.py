"""The staff of a chaos course: they lift what the system puts into quarantine, as after a look at it.

Works that are told to fail, and judges that are killed, look like broken nodes and assignments.
"""

import time

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from server.accounts import service as accounts
from server.db.models import Assignment, Node
from server.db.models.node import NodeState
from server.db.session import Database
from server.grading import service as grading
from server.settings import Settings
from tests.chaos.students import Log

LOOK_SECONDS = 3.0


class Staff:
    """Looks every few seconds, when asked to."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._database = Database(settings.database)
        self._log = log
        self._next = 0.0

    def look(self) -> None:
        """Lift every quarantine; a database that is away is looked at later."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_SECONDS
        try:
            with self._database.read() as session:
                nodes = select(Node.name).where(Node.state == NodeState.QUARANTINED)
                found = [*session.scalars(nodes)]
                found += session.scalars(select(Assignment.slug).where(Assignment.quarantined.is_not(None)))
            if found:
                self._lift()
                self._log.write("lifted", names=found)
        except SQLAlchemyError:
            return

    def _lift(self) -> None:
        with self._database.begin() as session:
            by = accounts.find_user(session, "admin")
            assert by is not None
            for node in session.scalars(select(Node).where(Node.state == NodeState.QUARANTINED)):
                grading.set_node_state(session, node, NodeState.ACTIVE, by=by)
            for assignment in session.scalars(select(Assignment).where(Assignment.quarantined.is_not(None))):
                grading.lift(session, assignment, by=by)

    def close(self) -> None:
        """Go home."""
        self._database.close()
