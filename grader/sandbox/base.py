"""The interface that every sandbox backend implements, and the limits it must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one sandboxed program may use. The defaults suit a CPU grading; a target may set others."""

    wall_seconds: float = 60.0
    cpu_seconds: float = 120.0
    memory_bytes: int = 4096 * MIB
    """Memory and swap together, shared memory and tmpfs included."""
    processes: int = 128
    """Processes and threads together."""
    output_bytes: int = 1 * MIB
    """stdout and stderr together."""
    disk_bytes: int = 256 * MIB
    """Size of /tmp."""
    shm_bytes: int = 64 * MIB
    """Size of /dev/shm."""
    inodes: int = 16384
    """Files and folders in /tmp."""
    open_files: int = 1024
    network: Literal["none", "loopback"] = "none"


class Limit(StrEnum):
    """Names of the limits, as `unenforced` and `Exit.limit` give them."""

    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    DISK = "disk"
    SHM = "shm"
    INODES = "inodes"
    OPEN_FILES = "open_files"
    GPU_MEMORY = "gpu_memory"
    """Named where there is a GPU as what nothing here can hold: `Limits` has no number for it."""
    NETWORK = "network"


@dataclass(frozen=True)
class Usage:
    """What a sandboxed program has used so far."""

    cpu_seconds: float
    memory_peak_bytes: int | None
    oom_kills: int
    """Processes that the kernel killed because the memory limit was reached."""
    process_limit_hits: int
    host_oom_kills: int = 0
    """Processes that the kernel killed because the whole machine was out of memory: infrastructure."""


@dataclass(frozen=True)
class Exit:
    """How a program ended: by `code`, by `signal`, or by neither when it could not be learnt."""

    code: int | None
    signal: int | None
    usage: Usage
    syscall_violation: bool = False
    """It was killed by the seccomp filter (SIGSYS)."""

    @property
    def out_of_memory(self) -> bool:
        """The kernel killed a process of it for want of memory."""
        return self.usage.oom_kills > 0


class SandboxError(RuntimeError):
    """The sandbox itself failed (not the program in it): infrastructure, never the student's fault."""


class FreezeTimeoutError(SandboxError):
    """The candidate could not be frozen within its deadline."""


class Freezer(Protocol):
    """Stops and resumes every process of a sandbox at once, through the kernel, never by signals."""

    kind: Literal["cgroup2", "cgroup1"]

    def freeze(self, timeout_seconds: float = 1.0) -> None:
        """Return once the kernel confirms that all are frozen; raise FreezeTimeoutError else."""
        ...

    def thaw(self) -> None:
        """Let all run again."""
        ...

    def cpu_seconds(self) -> float:
        """CPU time of the whole group so far, in seconds at microsecond or better resolution."""
        ...

    def runnable(self) -> bool:
        """Whether a frozen thread still has to leave its CPU, preempted just before it did."""
        ...


class Process(Protocol):
    """One running sandbox. Waiting has a deadline; killing goes through cgroup and pidfd, not by bare pid."""

    stdout: int
    """Non-blocking read end of its stdout; closed by `close`."""
    stderr: int
    pidfd: int
    """Becomes readable when the sandbox's first process has ended."""
    host_pid: int
    """Pid, as the host sees it, of a process inside the sandbox (for tests and diagnostics only)."""

    @property
    def freezer(self) -> Freezer | None:
        """None where the machine has no freezer (times are then unranked), and once all has ended."""
        ...

    def usage(self) -> Usage:
        """What it has used so far."""
        ...

    def wait(self, timeout_seconds: float) -> Exit | None:
        """Its exit, or None if it still runs after the timeout."""
        ...

    def kill(self, timeout_seconds: float = 60.0) -> Exit:
        """Thaw, kill everything in it, wait until nothing is left; raise SandboxError if something is."""
        ...

    def close(self) -> None:
        """Kill if needed, release descriptors, cgroups and scratch; safe to call twice."""
        ...


@dataclass(frozen=True)
class Command:
    """What to run inside, and what it is given."""

    argv: Sequence[str]
    """Paths as seen inside."""
    descriptors: Mapping[int, int] = field(default_factory=dict)
    """Number inside (3 and up) -> descriptor of the caller. Nothing else is inherited."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The whole environment inside, beside PATH, HOME=/tmp, LANG=C.UTF-8 and TMPDIR=/tmp."""
    read_only: Mapping[str, Path] = field(default_factory=dict)
    """Path inside -> host path, added to the backend's own allow-list (system libraries, the interpreter)."""
    devices: Sequence[str] = ()
    """Device files of the host under /dev that it may open, for instance those of one GPU."""
    gpus: Sequence[str] = ()
    """Uuids of the GPUs that `devices` belong to, for a backend that is told these (the nvidia runtime)."""
    cpus: frozenset[int] | None = None
    """CPUs it may use; None leaves the caller's."""


class Backend(Protocol):
    """One way to isolate a program."""

    name: str
    isolates: bool
    """False for `plain`, which workers refuse."""
    build_log: str
    """What the build of its image printed, if `equipped` has built one just now: for staff. Else empty."""

    @property
    def image(self) -> str:
        """Digest of the image that sandboxes are made of; empty where there is none."""
        ...

    @property
    def python(self) -> str:
        """Path inside of the interpreter that candidates run in."""
        ...

    @property
    def identity(self) -> Literal["own", "caller"]:
        """`own`: a uid of each session's own; `caller`: the caller's, so that results are unranked."""
        ...

    def available(self) -> str | None:
        """None if it can run here, else what is missing and what to do."""
        ...

    def unenforced(self) -> frozenset[Limit]:
        """Limits that this backend cannot hold on this machine."""
        ...

    def equipped(self, packages: Sequence[str]) -> "Backend":
        """This backend with extra packages (`name==version`) for programs inside; SandboxError if not."""
        ...

    def start(self, command: Command, limits: Limits) -> Process:
        """Start the program; raise SandboxError if the sandbox cannot be set up."""
        ...
