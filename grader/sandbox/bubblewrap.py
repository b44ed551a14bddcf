"""The bubblewrap backend: namespaces, an allow-list of mounts, seccomp, cgroups, a real unprivileged uid.

Theory of operation. A shell waits at a gate while this process moves it into the session's cgroups and sets
its resource limits: nothing has run until then that could escape them. As root it then makes the scratch
file systems, in a mount namespace of its own, and becomes bubblewrap's monitor. bubblewrap makes the
namespaces and mounts, loads the filter, and (as root) runs `setpriv`, which empties the bounding and
inheritable capability sets and takes the session's own uid. A second shell then waits inside, its identity
is checked from outside, and it becomes the program. There is no user namespace as root: bubblewrap would map
the inner uid to root. A caller who is not root gets a user namespace and keeps his own uid; his results are
unranked. All in the pid namespace dies with its init, the init with the monitor, the monitor with us.
"""

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from grader.sandbox import cgroup, gate, mounts, scratch, seccomp, uids
from grader.sandbox.base import Command, Limit, Limits, SandboxError
from grader.sandbox.census import Census
from grader.sandbox.launch import await_gate
from grader.sandbox.packages import require
from grader.sandbox.process import Parts, SandboxProcess
from grader.sandbox.programs import PATH, bwrap, util_linux
from grader.sandbox.uids import Lease

OVERHEAD_PROCESSES = 2
"""bubblewrap's monitor and the namespace's init."""
_LIMITED_BY_CGROUPS = frozenset({Limit.MEMORY, Limit.PROCESSES, Limit.CPU})
_COUNTED = frozenset({Limit.MEMORY, Limit.CPU})
"""Of these, what is counted from outside where no cgroup does."""


class BubblewrapBackend:
    """Implements `base.Backend`. `hidden` are host folders that no sandbox may see, beside the checkout."""

    name = "bubblewrap"
    image = ""
    build_log = ""
    isolates = True

    def __init__(self, hidden: Sequence[Path] = ()) -> None:
        root = mounts.checkout()
        self._hidden = [path.resolve() for path in (*hidden, *([] if root is None else [root]))]

    @property
    def python(self) -> str:
        """Path inside of the interpreter that candidates run in: the judge's own."""
        return sys.executable

    @property
    def identity(self) -> Literal["own", "caller"]:
        """`own`: a uid of each session's own; `caller`: the caller's, so that results are unranked."""
        return "own" if os.geteuid() == 0 else "caller"

    def available(self) -> str | None:
        """None if a sandbox can be started here, else what is missing and what to do."""
        return _available(os.geteuid())

    def unenforced(self) -> frozenset[Limit]:
        """Limits that this machine cannot hold."""
        inodes = frozenset() if self.identity == "own" else frozenset({Limit.INODES})
        return (cgroup.unenforced() - {Limit.PROCESSES}) | inodes

    def equipped(self, packages: Sequence[str]) -> "BubblewrapBackend":
        """This backend, if the packages are installed on this machine; SandboxError else."""
        require(packages)
        return self

    def start(self, command: Command, limits: Limits) -> SandboxProcess:
        """Start the program; raise SandboxError if the sandbox cannot be set up.

        When it returns, namespaces, mounts, cgroups, limits and uid are in force.
        """
        cgroup.reap_once(os.getpid())
        with contextlib.ExitStack() as undo:
            try:
                process = self._start(command, limits, undo)
            except OSError as error:
                raise SandboxError(f"cannot start a sandbox: {error}") from error
            undo.pop_all()
        return process

    def _start(self, command: Command, limits: Limits, undo: contextlib.ExitStack) -> SandboxProcess:
        lease = uids.lease() if self.identity == "own" else None
        if lease is not None:
            undo.callback(lease.release)
        group = cgroup.create(limits, overhead=OVERHEAD_PROCESSES, cpus=command.cpus)
        if group is not None:
            undo.callback(group.discard)
        missing = _LIMITED_BY_CGROUPS - (frozenset() if group is None else group.enforced)
        with gate.Gate(command.descriptors, undo) as entry:
            if lease is not None:
                for pipe in (entry.stdout, entry.stderr):
                    os.fchown(pipe, lease.uid, lease.uid)  # so that /dev/stdout can be opened by name
            status, status_writer = entry.status()
            options = self._options(command, limits, lease, entry)
            options += ["--json-status-fd", str(status_writer)]
            if any("\0" in option for option in options):
                raise SandboxError("a path or value for the sandbox contains NUL")
            arguments = "\0".join([*options, ""]).encode()
            argv = [] if lease is None else scratch.command(limits)
            argv += ["bwrap", "--args", str(entry.data(arguments)), "--"]
            argv += [*_launcher(lease, missing, limits), *gate.INNER, *command.argv]
            first = entry.spawn(argv, {"PATH": f"{bwrap().parent}:/usr/sbin:{PATH}"}, group, undo)
            # RLIMIT_NPROC counts by uid: it can stand in only for a uid that is the session's alone.
            by_uid = missing if lease is not None else missing - {Limit.PROCESSES}
            gate.restrict(entry.pid, limits, command.cpus, by_uid)
            entry.open()
            launched = await_gate(entry, status, first, None if lease is None else lease.uid)
            entry.open()
        parts = Parts(
            monitor=first,
            host_pid=launched.program_pid,
            stdout=entry.stdout,
            stderr=entry.stderr,
            group=group,
            init=launched.init,
            program=launched.program,
            status=status,
            census=Census(launched.init_pid, limits.memory_bytes) if missing & _COUNTED else None,
            on_end=[] if lease is None else [lease.release],
        )
        return SandboxProcess(parts)

    def _options(self, command: Command, limits: Limits, lease: Lease | None, entry: gate.Gate) -> list[str]:
        """Options for --args: on the command line they would be in the sandbox's /proc/1/cmdline."""
        uid, gid = (os.geteuid(), os.getegid()) if lease is None else (lease.uid, lease.uid)
        options = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        options += ["--hostname", "sandbox", "--new-session", "--die-with-parent"]
        if lease is None:
            options += ["--unshare-user", "--disable-userns", "--uid", str(uid), "--gid", str(gid)]
        else:
            options += ["--cap-drop", "ALL"]
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
                options += ["--cap-add", capability]
        folders = {} if lease is None else scratch.FOLDERS
        options += mounts.arguments(limits, command.read_only, self._hidden, folders, command.devices)
        for stub in mounts.stubs(uid, gid):
            number = entry.data(stub.content.encode())
            options += ["--perms", "0444", "--ro-bind-data", str(number), stub.path]
        options += ["--remount-ro", "/", "--chdir", mounts.TMP, "--clearenv"]
        for name, value in environment(command.environment).items():
            options += ["--setenv", name, value]
        options += ["--seccomp", str(entry.data(seccomp.program(limits.network)))]
        return options


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a sandboxed program (bubblewrap adds PWD=/tmp)."""
    return {"PATH": PATH, "HOME": mounts.TMP, "LANG": "C.UTF-8", "TMPDIR": mounts.TMP, **extra}


def _launcher(lease: Lease | None, missing: frozenset[Limit], limits: Limits) -> list[str]:
    """What runs first inside, with the program as its arguments."""
    if lease is not None:
        who = ["--reuid", str(lease.uid), "--regid", str(lease.uid), "--clear-groups"]
        return [util_linux("setpriv"), *who, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]
    if Limit.PROCESSES in missing:
        # In a user namespace the kernel counts for RLIMIT_NPROC only what is in it (Linux 5.14): that is
        # the program's and the namespace's init, not the monitor.
        return [util_linux("prlimit"), f"--nproc={limits.processes + 1}", "--"]
    return []


@functools.cache
def _available(_euid: int) -> str | None:
    """Start a program that ends at once, for real."""
    if platform.system() != "Linux":
        return "sandboxes need Linux: use a Linux machine or virtual machine"
    try:
        with BubblewrapBackend().start(Command(["/bin/true"]), Limits()) as process:
            end = process.wait(20.0)
    except SandboxError as error:
        return str(error)
    if end is None or end.code != 0:
        return f"a trial program did not end with code 0: {end}"
    return None
