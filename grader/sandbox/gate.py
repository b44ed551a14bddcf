"""The gates: shells that wait until the judge has confined or checked them, and then go on.

The outer one waits before anything is set up, to be moved into cgroups and given its limits; the inner one
(`INNER`) waits inside a finished sandbox, to be checked before the program replaces it. Both read a line
from standard input; should the judge die, they read its end and exit.

A `Gate` also owns the descriptors of a start: pipes for the program's output and the sandbox's status, and
small in-memory files whose numbers the sandbox is told.
"""

import contextlib
import os
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from grader.sandbox.base import Limit, Limits, SandboxError
from grader.sandbox.cgroup import Group
from grader.sandbox.process import abandon
from grader.sandbox.spawn import spawn
from grader.sandbox.status import Status

_OUTER = 'read -r _ || exit 125; umask 022; exec "$@"'
_INNER = 'read -r _ || exit 125; exec 0</dev/null; exec "$@"'
INNER = ("/bin/sh", "-c", _INNER, "sh")
"""To be followed by the program and its arguments."""
INNER_NAME = "sh"
"""Name of the process that waits at the inner gate."""
_MOST_LIKELY_KILLED = "1000"
"""oom_score_adj: a machine that runs out of memory takes the candidate first, never the judge."""
_LEAST_FILES = 64
"""bubblewrap itself needs some descriptors."""


class Gate:
    """Descriptors of one start. As a context it closes those that only the child keeps."""

    def __init__(self, descriptors: Mapping[int, int], undo: contextlib.ExitStack) -> None:
        if any(number < 3 for number in descriptors):
            raise SandboxError("numbers below 3 are the standard streams")
        self._undo = undo
        self._ours = contextlib.ExitStack()
        waiting, self._opener = self._pipe()
        self._ours.callback(os.close, self._opener)
        self._ours.callback(os.close, waiting)
        self.stdout, stdout = self._output()
        self.stderr, stderr = self._output()
        self._map = {0: waiting, 1: stdout, 2: stderr, **descriptors}
        self.pid = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()

    def data(self, content: bytes) -> int:
        """The child's number of an in-memory file with this content."""
        descriptor = os.memfd_create("data")
        self._ours.callback(os.close, descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self._number(descriptor)

    def status(self) -> tuple[Status, int]:
        """The reader of bubblewrap's status, and the child's number of its writer."""
        reader, writer = self._output()
        return Status(reader), self._number(writer)

    def spawn(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        group: Group | None,
        undo: contextlib.ExitStack,
    ) -> int:
        """Start the waiting shell inside the group, and return its pidfd."""
        self.pid = spawn("/bin/sh", ["sh", "-c", _OUTER, "sh", *argv], environment, self._map)
        pidfd = os.pidfd_open(self.pid)
        undo.callback(abandon, pidfd, group)
        if group is not None:
            group.add(self.pid)
        return pidfd

    @property
    def descriptors(self) -> Mapping[int, int]:
        """Number that the child has -> descriptor of ours; 0 is where it waits for `open`."""
        return self._map

    def open(self) -> None:
        """Let the shell that waits go on: first the outer one, then the inner one."""
        os.write(self._opener, b"\n")

    def _number(self, descriptor: int) -> int:
        number = max(self._map) + 1
        self._map[number] = descriptor
        return number

    def _output(self) -> tuple[int, int]:
        """(our non-blocking read end, the child's write end)."""
        reader, writer = self._pipe()
        os.set_blocking(reader, False)
        self._undo.callback(os.close, reader)
        self._ours.callback(os.close, writer)
        return reader, writer

    @staticmethod
    def _pipe() -> tuple[int, int]:
        return os.pipe2(os.O_CLOEXEC)


def restrict(pid: int, limits: Limits, cpus: frozenset[int] | None, missing: frozenset[Limit]) -> None:
    """Set CPU affinity and resource limits of the waiting shell, which all that follows inherits.

    They count by process, not by sandbox. For limits that are `missing` from the cgroups they stand in:
    memory by the writable mappings of a process, processes by uid.
    """
    if cpus is not None:
        os.sched_setaffinity(pid, cpus)
    sacrifice(pid)
    for kind, (soft, hard) in rlimits(limits, missing).items():
        ceiling = resource.prlimit(pid, kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
        resource.prlimit(pid, kind, (soft, hard))


def sacrifice(pid: int) -> None:
    """Have the machine, should it run out of memory, take this process and its children first."""
    Path(f"/proc/{pid}/oom_score_adj").write_text(_MOST_LIKELY_KILLED)


def rlimits(limits: Limits, missing: frozenset[Limit]) -> dict[int, tuple[int, int]]:
    """Resource limit (a number of `resource`) -> soft and hard value."""
    files = max(limits.open_files, _LEAST_FILES)
    seconds = int(limits.cpu_seconds) + 1
    values: dict[int, tuple[int, int]] = {
        # With 0 a core_pattern that is a pipe would still be run on the host; with 1 nothing is.
        resource.RLIMIT_CORE: (1, 1),
        resource.RLIMIT_NOFILE: (files, files),
        resource.RLIMIT_FSIZE: (limits.memory_bytes, limits.memory_bytes),
        resource.RLIMIT_CPU: (seconds, seconds + 1),
        resource.RLIMIT_RTPRIO: (0, 0),
    }
    if Limit.MEMORY in missing:
        values[resource.RLIMIT_DATA] = (limits.memory_bytes, limits.memory_bytes)
    if Limit.PROCESSES in missing:
        values[resource.RLIMIT_NPROC] = (limits.processes, limits.processes)
    return values
