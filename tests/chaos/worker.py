"""A real worker with the judge of this folder, and less patience for Reports that nobody acknowledges."""

import sys
from dataclasses import replace
from pathlib import Path

from grader import worker
from grader.node import logs
from grader.node.settings import NodeSettings

RESEND_SECONDS = (1.5, 20.0)

if __name__ == "__main__":
    worker.RESEND_SECONDS = RESEND_SECONDS
    logs.configure()
    command = (sys.executable, str(Path(__file__).with_name("judge.py")))
    settings = replace(NodeSettings.from_environment(), judge_command=command)
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    worker.Worker(settings).run()
