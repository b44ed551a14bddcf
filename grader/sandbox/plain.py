"""The plain backend: isolates nothing. For a Linux without namespaces, and one's own code only.

It starts the program as the caller, in an empty folder of its own, with the given environment and
descriptors, resource limits, and cgroups where the caller may make them (then times can be taken, unranked).
It does not hide files, processes or the network, and a program that leaves its session and is in no cgroup
can outlive it.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from grader.sandbox import cgroup, gate
from grader.sandbox.base import Command, Limit, Limits, SandboxError
from grader.sandbox.mounts import TMP
from grader.sandbox.packages import require
from grader.sandbox.process import Parts, SandboxProcess

_BY_PROCESS = frozenset({Limit.CPU, Limit.MEMORY, Limit.PROCESSES})
_NEVER = frozenset({Limit.DISK, Limit.SHM, Limit.INODES, Limit.GPU_MEMORY, Limit.NETWORK})
_ENTER = 'cd "$1" && shift && exec 0</dev/null && exec "$@"'


class PlainBackend:
    """Implements `base.Backend` without isolation; workers refuse it."""

    name = "plain"
    image = ""
    build_log = ""
    isolates = False
    identity: Literal["own", "caller"] = "caller"

    @property
    def python(self) -> str:
        """Path inside of the interpreter that candidates run in: the judge's own."""
        return sys.executable

    def available(self) -> str | None:
        """None: it runs on every Linux."""
        return None if Path("/proc/self/stat").exists() else "the plain sandbox needs Linux"

    def unenforced(self) -> frozenset[Limit]:
        """Most limits: without cgroups only those by process hold."""
        return _NEVER | (_BY_PROCESS & cgroup.unenforced())

    def equipped(self, packages: Sequence[str]) -> "PlainBackend":
        """This backend, if the packages are installed on this machine; SandboxError else."""
        require(packages)
        return self

    def start(self, command: Command, limits: Limits) -> SandboxProcess:
        """Start the program; raise SandboxError if that fails."""
        cgroup.reap_once(os.getpid())
        with contextlib.ExitStack() as undo:
            try:
                process = self._start(command, limits, undo)
            except OSError as error:
                raise SandboxError(f"cannot start a program: {error}") from error
            undo.pop_all()
        return process

    def _start(self, command: Command, limits: Limits, undo: contextlib.ExitStack) -> SandboxProcess:
        folder = tempfile.mkdtemp(prefix="solmark-")
        remove = _remover(folder)
        undo.callback(remove)
        group = cgroup.create(limits, cpus=command.cpus)
        if group is not None:
            undo.callback(group.discard)
        with gate.Gate(command.descriptors, undo) as entry:
            argv = [_on_host(word, command.read_only) for word in command.argv]
            environment = {"PATH": os.defpath, "HOME": folder, "LANG": "C.UTF-8", "TMPDIR": folder}
            # Below /tmp all is private in every other sandbox: here it lies in the folder, and goes with it.
            inside = {**command.read_only, TMP: Path(folder)}
            environment |= {name: _on_host(value, inside) for name, value in command.environment.items()}
            first = entry.spawn(["sh", "-c", _ENTER, "sh", folder, *argv], environment, group, undo)
            # RLIMIT_NPROC counts by uid, and this one is the caller's own.
            missing = _BY_PROCESS - {Limit.PROCESSES} - (frozenset() if group is None else group.enforced)
            gate.restrict(entry.pid, limits, command.cpus, missing)
            entry.open()
        parts = Parts(
            monitor=first,
            host_pid=entry.pid,
            stdout=entry.stdout,
            stderr=entry.stderr,
            group=group,
            on_end=[remove],
        )
        return SandboxProcess(parts)


def _on_host(word: str, read_only: Mapping[str, Path]) -> str:
    """A path inside as it is on the host, since nothing is mounted."""
    for inside, host in read_only.items():
        if word == inside or word.startswith(f"{inside}/"):
            return str(host) + word[len(inside) :]
    return word


def _remover(folder: str) -> Callable[[], None]:
    return lambda: shutil.rmtree(folder, ignore_errors=True)
