"""`solmark-server tasks --beat` that gives up on a silent queue after four seconds.

If there is a file named by its argument, the time of day of its schedule is an hour less than it was.
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path

from celery.schedules import BaseSchedule  # type: ignore[import-untyped]

from server.cli import app
from server.tasks import watch

if __name__ == "__main__":
    watch.PATIENCE_SECONDS = 4.0
    set_back, now = Path(sys.argv.pop()), BaseSchedule.now

    def shown(schedule: BaseSchedule) -> datetime:
        found: datetime = now(schedule)
        return found - timedelta(hours=1) if set_back.exists() else found

    BaseSchedule.now = shown
    sys.argv += ["tasks", "--beat"]
    app()
