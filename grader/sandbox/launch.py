"""Watch a sandbox being set up, until a process waits inside that is who it should be."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import pidfd
from grader.sandbox.base import SandboxError
from grader.sandbox.gate import INNER_NAME, Gate
from grader.sandbox.status import Status

_SETUP_SECONDS = 20.0
_PAUSE_SECONDS = 0.0005
_MESSAGE_BYTES = 2000


@dataclass(frozen=True)
class Launched:
    """A sandbox whose program waits at the inner gate: pidfds of the namespace's init and of the program."""

    init: int
    program: int
    init_pid: int
    """As the host sees it."""
    program_pid: int


def await_gate(gate: Gate, status: Status, monitor: int, uid: int | None) -> Launched:
    """Wait until a process waits at the inner gate, and check who it is; raise SandboxError else.

    `monitor` is the pidfd of bubblewrap's monitor; `uid` the session's, None where the caller's is kept.
    """
    deadline = time.monotonic() + _SETUP_SECONDS
    with contextlib.ExitStack() as undo:
        init: int | None = None
        while time.monotonic() < deadline:
            status.poll()
            if init is None and status.init_pid is not None:
                init = open_child(status.init_pid, gate.pid, undo)
            if init is not None and status.init_pid is not None:
                waiting = _waiting(status.init_pid, undo)
                if waiting is not None:
                    check_identity(waiting[1], uid)
                    undo.pop_all()
                    return Launched(init, waiting[0], status.init_pid, waiting[1])
            if pidfd.ended(monitor):
                raise SandboxError(f"the sandbox could not be set up: {message(gate.stderr) or 'no message'}")
            time.sleep(_PAUSE_SECONDS)
    raise SandboxError(f"the sandbox was not set up within {_SETUP_SECONDS:g} s")


def _waiting(init_pid: int, undo: contextlib.ExitStack) -> tuple[int, int] | None:
    """(pidfd, pid) of the process at the inner gate, None before it is there."""
    try:
        children = Path(f"/proc/{init_pid}/task/{init_pid}/children").read_text().split()
    except OSError:
        return None
    if not children or _field(int(children[0]), "Name:") != [INNER_NAME]:
        return None
    descriptor = open_child(int(children[0]), init_pid, undo)
    return None if descriptor is None else (descriptor, int(children[0]))


def check_identity(pid: int, uid: int | None) -> None:
    """Raise SandboxError unless the process has nothing left of its caller: this is asked at every start."""
    empty = ["0000000000000000"]
    wanted = {"CapInh:": empty, "CapPrm:": empty, "CapEff:": empty, "CapAmb:": empty, "NoNewPrivs:": ["1"]}
    wanted |= {"Seccomp:": ["2"]}
    if uid is not None:
        wanted |= {"CapBnd:": empty, "Uid:": [str(uid)] * 4, "Gid:": [str(uid)] * 4, "Groups:": []}
    for name, value in wanted.items():
        found = _field(pid, name)
        if name == "Groups:" and found == [str(uid)]:
            continue  # Docker lists a user's own group there too.
        if found != value:
            raise SandboxError(f"the sandbox has {name} {' '.join(found)}, and not {' '.join(value)}")


def open_child(pid: int, parent: int, undo: contextlib.ExitStack) -> int | None:
    """A pidfd of the child `pid` of `parent`; None if it has ended. Its number may have been taken since."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    undo.callback(os.close, descriptor)
    # The parent is read after it was opened, and it must still live then: so both are about one process.
    return descriptor if _field(pid, "PPid:") == [str(parent)] and not pidfd.ended(descriptor) else None


def _field(pid: int, name: str) -> list[str]:
    """Words of a line of /proc/<pid>/status; none if the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(name)), [])


def message(stderr: int) -> str:
    """What a program that could not be set up has said, if anything."""
    try:
        return os.read(stderr, _MESSAGE_BYTES).decode(errors="replace").strip()
    except BlockingIOError:
        return ""
