"""One grading in a process of its own: `python -m grader.judge_process`.

Reads one JSON document from stdin: `job` (a JobSpec), `bundle` (path of the assignment's folder), `files`
(name to base64), `backend` (a sandbox's name or null), `node`. Writes JSON lines to stdout: `{"event": ...}`
for every step and `{"report": ...}` at the end. SIGTERM ends it after its sandboxes. With `--ahead` it first
loads what every session needs, and says `{"ready": true}`: a worker then has it wait for its one request.
"""

import base64
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pydantic import BaseModel, ConfigDict

from grader import session
from grader.assignment import load
from grader.contract import Event, JobSpec, read
from grader.hardware.profile import HardwareError
from grader.hardware.profile import load as load_hardware
from grader.node.settings import AHEAD
from grader.sandbox import registry


class Request(BaseModel):
    """What the worker asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job: dict[str, Any]
    bundle: str
    files: dict[str, str]
    backend: str | None = None
    node: str = ""


def main() -> int:
    """Grade what stdin describes; 0 when a Report was written."""
    signal.signal(signal.SIGTERM, _terminate)
    write = _line_writer()
    if AHEAD in sys.argv[1:]:
        # A request that comes before it is done need not wait for all of it.
        threading.Thread(target=_load, args=(write,), name="ahead", daemon=True).start()
    request = Request.model_validate_json(sys.stdin.buffer.read())
    job = read(JobSpec, json.dumps(request.job))
    try:
        hardware = load_hardware(job.target.hardware)
    except HardwareError as error:
        sys.stderr.write(f"graded without a hardware profile: {error}\n")
        hardware = None
    report = session.grade(
        job,
        load(request.bundle),
        {name: base64.b64decode(data, validate=True) for name, data in request.files.items()},
        backend=registry.choose(request.backend, for_others=True),
        hardware=hardware,
        emit=lambda event: write({"event": _json(event)}),
        node=request.node,
        holds=True,
    )
    write({"report": json.loads(report.model_dump_json())})
    return 0


def _load(write: Callable[[dict[str, Any]], None]) -> None:
    import torch  # noqa: F401

    write({"ready": True})


def _line_writer() -> Callable[[dict[str, Any]], None]:
    """Writes lines to what stdout is now, from any thread; what else prints goes to stderr from here on."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    turn = threading.Lock()

    def write(document: dict[str, Any]) -> None:
        with turn:
            lines.write(json.dumps(document) + "\n")
            lines.flush()

    return write


def _json(event: Event) -> Any:
    return json.loads(event.model_dump_json())


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Every sandbox is closed. To take torch apart first would keep the worker for half a second.
    os._exit(status)
