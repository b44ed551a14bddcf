"""Watch a sandbox being set up, until the program inside runs as who it should be."""

import os
import select
import time
from pathlib import Path

from grader.sandbox.base import SandboxError
from grader.sandbox.gate import Gate
from grader.sandbox.status import Status

_SETUP_SECONDS = 20.0
_PAUSE_SECONDS = 0.0005
_MESSAGE_BYTES = 2000


def await_program(gate: Gate, status: Status, monitor: int, uid: int | None) -> tuple[int | None, int]:
    """Return (pidfd of the namespace's init, host pid of the program); raise SandboxError if setup fails.

    `monitor` is the pidfd of bubblewrap's monitor. With a `uid`, the program has taken it on return. A
    program that has ended already leaves no pid: then the monitor's is given, and no init if it is gone too.
    """
    deadline = time.monotonic() + _SETUP_SECONDS
    init: int | None = None
    try:
        while time.monotonic() < deadline:
            ended = bool(select.select([monitor], [], [], 0)[0])
            status.poll()
            if init is None and status.init_pid is not None:
                init = _open_child(status.init_pid, gate.pid)
            program = None if init is None or status.init_pid is None else _child(status.init_pid)
            if program is not None and (uid is None or _uids(program) == {uid}):
                return init, program
            if ended:
                if status.exit_code is None:
                    raise SandboxError(f"the sandbox could not be set up: {_message(gate.stderr)}")
                return init, gate.pid
            time.sleep(_PAUSE_SECONDS)
        raise SandboxError(f"the sandbox was not set up within {_SETUP_SECONDS:g} s")
    except BaseException:
        if init is not None:
            os.close(init)
        raise


def _open_child(pid: int, parent: int) -> int | None:
    """A pidfd of our child's child; None if it has ended. The pid may have been taken by another since."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    # Its parent is read after it was opened, and it must still live then: so both are about one process.
    genuine = _status_field(pid, "PPid:") == [str(parent)]
    if genuine and not select.select([descriptor], [], [], 0)[0]:
        return descriptor
    os.close(descriptor)
    return None


def _child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def _uids(pid: int) -> set[int]:
    """Real, effective, saved and file system uid; empty if the process is gone."""
    return {int(value) for value in _status_field(pid, "Uid:")}


def _status_field(pid: int, name: str) -> list[str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(name)), [])


def _message(stderr: int) -> str:
    try:
        return os.read(stderr, _MESSAGE_BYTES).decode(errors="replace").strip()
    except BlockingIOError:
        return "no message"
