"""A real worker that on SIGRTMIN stops to consume, as after a lost subscription; everything else goes on."""

import json
import signal
import sys
from pathlib import Path

from grader.node.settings import NodeSettings
from grader.worker import Worker

if __name__ == "__main__":
    values = json.loads(sys.argv[1])
    worker = Worker(NodeSettings(**{**values, "home": Path(values["home"])}))

    def go_deaf(*_: object) -> None:
        consumer = worker._consumer
        consumer.call_soon(consumer.task_consumer.cancel)

    signal.signal(signal.SIGRTMIN, go_deaf)
    worker.run()
