"""Starts a real worker for tests; its settings are JSON in the first argument, its judge is named there.

`resend_seconds` among them is how soon, and how late at most, it sends a Report again.
"""

import json
import sys
from pathlib import Path

from grader import worker
from grader.node import logs
from grader.node.settings import NodeSettings

if __name__ == "__main__":
    logs.configure()
    values = json.loads(sys.argv[1])
    worker.RESEND_SECONDS = tuple(values.pop("resend_seconds", worker.RESEND_SECONDS))
    worker.Worker(NodeSettings(**{**values, "home": Path(values["home"])})).run()
