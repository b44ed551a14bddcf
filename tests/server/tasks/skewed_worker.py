"""A real worker whose clock is off by `skew_seconds`, one of its settings; monotonic time is right."""

import json
import sys
import time
from pathlib import Path

values = json.loads(sys.argv[1])
skew = values.pop("skew_seconds")
now = time.time
time.time = lambda: now() + skew

from grader.node import logs  # noqa: E402  what it imports may look at the clock
from grader.node.settings import NodeSettings  # noqa: E402
from grader.worker import Worker  # noqa: E402

if __name__ == "__main__":
    logs.configure()
    Worker(NodeSettings(**{**values, "home": Path(values["home"])})).run()
