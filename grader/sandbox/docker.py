"""The Docker backend: one container for each sandbox, made of an image named by its digest.

Theory of operation. The container is configured in full before it exists (`container`): no network, a
read-only root, sized scratch, limits, no capability, no new privileges, our filter, a uid of the session's
own. Its first process is a small file of ours that connects to a socket in the session's folder; there it is
given the program, its pipes and its arena (`handover`), and the socket is gone before the program starts. The
program waits until this process has found the container's cgroups, checked who it is, and set its resource
limits. The judge then freezes, counts and ends it through the container's own cgroups.

An image that names its interpreter is used as it is; without one the system folders and the environment of
this machine are mounted read-only over an empty image, as bubblewrap does (`rootfs`).
"""

import contextlib
import functools
import os
import platform
import select
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from grader.sandbox import (
    cgroup,
    container,
    engine,
    gate,
    hierarchy,
    launch,
    mounts,
    names,
    rootfs,
    seccomp,
    uids,
)
from grader.sandbox import packages as installed
from grader.sandbox.base import Command, Limit, Limits, SandboxError
from grader.sandbox.bubblewrap import environment
from grader.sandbox.container import Rootfs, Session
from grader.sandbox.container_init import READY
from grader.sandbox.container_process import ContainerProcess, Parts
from grader.sandbox.handover import FOLDER, Handover
from grader.sandbox.packages import Built

IMAGE_VARIABLE = "SOLMARK_SANDBOX_IMAGE"
"""Names the image of sandboxes; unset, the machine's own folders are used."""
_SETUP_SECONDS = 30.0


class DockerBackend:
    """Implements `base.Backend`. `image` is a name or digest; `hidden` are host folders as for bubblewrap."""

    name = "docker"
    isolates = True
    identity: Literal["own", "caller"] = "own"

    def __init__(self, image: str | None = None, hidden: Sequence[Path] = (), build_log: str = "") -> None:
        root = mounts.checkout()
        self._hidden = [path.resolve() for path in (*hidden, *([] if root is None else [root]))]
        self._image = image or os.environ.get(IMAGE_VARIABLE) or None
        self.build_log = build_log

    @property
    def python(self) -> str:
        """Path inside of the interpreter that candidates run in."""
        return self._rootfs.python

    @property
    def image(self) -> str:
        """Digest of the image that sandboxes are made of; empty if there is no such image or no daemon."""
        try:
            return self._rootfs.image
        except SandboxError:
            return ""

    def available(self) -> str | None:
        """None if a sandbox can be started here, else what is missing and what to do."""
        if platform.system() != "Linux":
            return "the judge needs Linux, on the machine whose Docker daemon it uses"
        if os.geteuid() != 0:
            return "the Docker sandbox must be started by root: who may use the daemon is as good as root"
        try:
            with self.start(Command([self.python, "-I", "-S", "-c", ""]), Limits()) as process:
                end = process.wait(20.0)
        except SandboxError as error:
            return str(error)
        return (
            None if end is not None and end.code == 0 else f"a trial program did not end with code 0: {end}"
        )

    def unenforced(self) -> frozenset[Limit]:
        """Limits that the daemon cannot hold on this machine, as it says itself."""
        return self._unenforced | cgroup.of_gpus()

    @functools.cached_property
    def _unenforced(self) -> frozenset[Limit]:
        try:
            info = engine.connect().info()
        except SandboxError:  # Nothing can be confirmed, and nothing runs.
            info = {}
        memory = ("MemoryLimit", "SwapLimit") if hierarchy.swaps() else ("MemoryLimit",)
        named = {Limit.MEMORY: memory, Limit.PROCESSES: ("PidsLimit",)}
        return frozenset(limit for limit, keys in named.items() if not all(info.get(key) for key in keys))

    def equipped(self, packages: Sequence[str]) -> "DockerBackend":
        """This backend with extra packages for programs inside; SandboxError, with the log, if that fails.

        They are added to the image once; without an image they must be installed on this machine.
        """
        if self._image is None:
            installed.require(packages)
            return self
        built = self.build(packages)
        return DockerBackend(built.digest, self._hidden, built.log if built.now else "")

    def build(self, packages: Sequence[str]) -> Built:
        """The image with these packages, built if it is not here yet; SandboxError without an image."""
        if self._image is None:
            raise SandboxError(f"packages are added to an image: name it in {IMAGE_VARIABLE}")
        return installed.build(engine.connect(), self._rootfs, packages)

    def start(self, command: Command, limits: Limits) -> ContainerProcess:
        """Start the program; raise SandboxError if the sandbox cannot be set up.

        When it returns, namespaces, mounts, cgroups, limits and uid are in force.
        """
        reap_once(os.getpid())
        with contextlib.ExitStack() as undo:
            try:
                process = self._start(command, limits, undo)
            except OSError as error:
                raise SandboxError(f"cannot start a sandbox: {error}") from error
            undo.pop_all()
        return process

    @functools.cached_property
    def _rootfs(self) -> Rootfs:
        daemon = engine.connect()
        return (
            rootfs.of_host(daemon, self._hidden)
            if self._image is None
            else rootfs.of_image(daemon, self._image)
        )

    def _start(self, command: Command, limits: Limits, undo: contextlib.ExitStack) -> ContainerProcess:
        daemon, files = engine.connect(), self._rootfs
        lease = uids.lease()
        undo.callback(lease.release)
        name = names.new()
        handover = Handover.open(name, lease.uid, container.stubs(lease.uid))
        undo.callback(handover.close)
        session = Session(name, lease.uid, handover.folder)
        given = list(mounts.added(command.read_only, self._hidden))
        identity = daemon.create(name, container.configuration(files, session, command, limits, given))
        undo.callback(daemon.remove, identity)
        with gate.Gate(command.descriptors, undo) as entry:
            for pipe in (entry.stdout, entry.stderr):
                os.fchown(pipe, lease.uid, lease.uid)  # so that /dev/stdout can be opened by name
            status, status_writer = entry.status()
            daemon.start(identity)
            deadline = time.monotonic() + _SETUP_SECONDS
            init_pid = int(daemon.state(identity)["Pid"])
            init = _open(init_pid, undo, lambda: daemon.log(identity))
            group = cgroup.of(init_pid, identity)
            undo.callback(group.close)
            document = {
                "argv": list(command.argv),
                "environment": _environment(files, command),
                "numbers": list(entry.descriptors),
                "status": status_writer,
                "filter": seccomp.program(limits.network).hex(),
                "rlimits": list(gate.rlimits(limits, frozenset()).items()),
            }
            try:
                handover.send(document, list(entry.descriptors.values()), init, deadline)
                handover.shut()
                program_pid, program = _program(init_pid, status.descriptor, undo, deadline)
            except (OSError, SandboxError) as error:
                message = launch.message(entry.stderr) or daemon.log(identity)
                raise SandboxError(f"{error}: {message}") from error
            launch.check_identity(program_pid, lease.uid)
            gate.sacrifice(program_pid)
            entry.open()
        return ContainerProcess(
            Parts(
                init=init,
                init_pid=init_pid,
                program=program,
                program_pid=program_pid,
                stdout=entry.stdout,
                stderr=entry.stderr,
                status=status.descriptor,
                group=group,
                ran_out_of_memory=lambda: bool(daemon.state(identity).get("OOMKilled")),
                remove=[functools.partial(daemon.remove, identity), handover.close, lease.release],
            )
        )


def _environment(files: Rootfs, command: Command) -> dict[str, str]:
    """The whole environment of the program: the image's where it has one, ours, and the command's."""
    ours = environment({})
    path = files.environment.get("PATH", ours["PATH"])
    return {**files.environment, **ours, "PATH": path, "PWD": mounts.TMP, **command.environment}


def _open(pid: int, undo: contextlib.ExitStack, log: Callable[[], str]) -> int:
    try:
        descriptor = os.pidfd_open(pid) if pid else None
    except ProcessLookupError:
        descriptor = None
    if descriptor is None:
        raise SandboxError(f"the container's first process ended at once: {log()}")
    undo.callback(os.close, descriptor)
    return descriptor


def _program(init_pid: int, status: int, undo: contextlib.ExitStack, deadline: float) -> tuple[int, int]:
    """(pid, pidfd) of the child of the container's first process, once it waits for us."""
    poller = select.poll()
    poller.register(status, select.POLLIN)
    readable = poller.poll(max(deadline - time.monotonic(), 0.0) * 1e3)
    told = os.read(status, len(READY)) if readable else b""
    children = Path(f"/proc/{init_pid}/task/{init_pid}/children").read_text().split()
    program = launch.open_child(int(children[0]), init_pid, undo) if children else None
    if told != READY or program is None:
        raise SandboxError(f"the program was not set up within {_SETUP_SECONDS:g} s")
    return int(children[0]), program


@functools.lru_cache(maxsize=1)
def reap_once(_pid: int) -> int:
    """`reap`, once in the life of the process with this pid."""
    return reap()


def reap() -> int:
    """Remove containers and folders of sessions whose judge is dead; returns how many containers."""
    daemon = engine.connect()
    stale = [
        identity for identity, name in daemon.containers(container.LABEL).items() if names.is_stale(name)
    ]
    for identity in stale:
        daemon.remove(identity)
    if FOLDER.is_dir():
        for folder in FOLDER.iterdir():
            if names.is_stale(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
    return len(stale)
