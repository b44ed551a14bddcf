"""Starts a real worker for tests; its settings are JSON in the first argument, its judge is named there."""

import json
import sys
from pathlib import Path

from grader.node import logs
from grader.node.settings import NodeSettings
from grader.worker import Worker

if __name__ == "__main__":
    logs.configure()
    values = json.loads(sys.argv[1])
    Worker(NodeSettings(**{**values, "home": Path(values["home"])})).run()
