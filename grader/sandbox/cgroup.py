"""The cgroups of one session: limits, accounting, freezer and killing, over v2, hybrid or v1 layouts.

Groups of dead sessions are told from live ones by their names (`names`), and removed (`reap`).
"""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.sandbox import hierarchy, names
from grader.sandbox.base import Limit, Limits, SandboxError, Usage
from grader.sandbox.freezer import Cgroup1Freezer, Cgroup2Freezer
from grader.sandbox.hierarchy import Hierarchy

_PAUSE_SECONDS = 0.0005
_FREEZE_SECONDS = 0.2
_SWAP = ("memory.swap.max", "memory.memsw.limit_in_bytes")
"""Files that limit memory that was moved out to a disk, of v2 and of v1."""


class Group:
    """The cgroups of one session, one in each tree; made by `create`, emptied by `kill`, gone by `remove`."""

    def __init__(self, folders: dict[str, str], freezer: Cgroup1Freezer | Cgroup2Freezer | None) -> None:
        self._folders = folders
        """Controller (`` for v2 itself) -> folder; several controllers may share one."""
        self.freezer = freezer

    @property
    def folders(self) -> list[str]:
        """Every folder of the session once."""
        return list(dict.fromkeys(self._folders.values()))

    @property
    def enforced(self) -> frozenset[Limit]:
        """Limits that these groups hold."""
        pairs = (("memory", Limit.MEMORY), ("pids", Limit.PROCESSES), ("", Limit.CPU), ("cpuacct", Limit.CPU))
        return frozenset(limit for controller, limit in pairs if controller in self._folders)

    @property
    def limits_swap(self) -> bool:
        """Whether memory that was moved out to a disk counts too: not every kernel keeps account of it."""
        memory = self._folders.get("memory")
        return memory is not None and any(Path(memory, name).exists() for name in _SWAP)

    def add(self, pid: int) -> None:
        """Move a process of ours, one that has not yet run any foreign code, into every group."""
        for folder in self.folders:
            _put(f"{folder}/cgroup.procs", str(pid))

    def processes(self) -> set[int]:
        """Pids of all processes in the groups."""
        return {pid for folder in self.folders for pid in _processes(folder)}

    def cpu_seconds(self) -> float | None:
        """CPU time of all processes, dead ones included; None if nothing here counts it."""
        if self.freezer is not None:
            return self.freezer.cpu_seconds()
        if "" in self._folders:
            return _field(f"{self._folders['']}/cpu.stat", "usage_usec") / 1e6
        if "cpuacct" in self._folders:
            return int(_get(f"{self._folders['cpuacct']}/cpuacct.usage")) / 1e9
        return None

    def usage(self) -> Usage:
        """What the session has used so far."""
        memory, pids = self._folders.get("memory"), self._folders.get("pids")
        peak, kills, limit_hits, hits = None, 0, 0, 0
        if memory is not None and memory == self._folders.get(""):
            with contextlib.suppress(SandboxError):  # memory.peak came with Linux 5.19
                peak = int(_get(f"{memory}/memory.peak"))
            kills = _field(f"{memory}/memory.events", "oom_kill")
            limit_hits = _field(f"{memory}/memory.events", "oom")
        elif memory is not None:
            peak = int(_get(f"{memory}/memory.max_usage_in_bytes"))
            kills = _field(f"{memory}/memory.oom_control", "oom_kill")
            # Newer kernels no longer count failures here; who was killed for the limit has been close to it.
            limit_hits = int(peak >= 0.95 * int(_get(f"{memory}/memory.limit_in_bytes")))
        if pids is not None:
            hits = _field(f"{pids}/pids.events", "max")
        # The kernel books a kill here also when the machine as a whole has run out.
        own, host = (kills, 0) if limit_hits else (0, kills)
        return Usage(self.cpu_seconds() or 0.0, peak, own, hits, host)

    def kill(self) -> None:
        """Send SIGKILL to every process in it, frozen or not, then thaw: no foreign code runs in between."""
        second = self._folders.get("")
        if second is not None:
            with contextlib.suppress(SandboxError):  # cgroup.kill came with Linux 5.14
                _put(f"{second}/cgroup.kill", "1")
        # cgroup.kill misses a process whose main thread has ended; v1 has no such file.
        for pid in self.processes():
            self._signal(pid)
        if self.freezer is not None:
            self.freezer.thaw()

    def clear(self, spared: int, timeout_seconds: float) -> None:
        """Kill every process in it but one; raise SandboxError if another outlives that."""
        deadline = time.monotonic() + timeout_seconds
        while others := self.processes() - {spared}:
            if time.monotonic() > deadline:
                raise SandboxError(f"processes outlived SIGKILL by {timeout_seconds:g} s: {sorted(others)}")
            # Frozen they cannot fork; what they are sent takes effect at the latest when they are thawed.
            with contextlib.suppress(SandboxError):
                if self.freezer is not None:
                    self.freezer.freeze(_FREEZE_SECONDS)
            for pid in self.processes() - {spared}:
                self._signal(pid)
            if self.freezer is not None:
                self.freezer.thaw()
            time.sleep(_PAUSE_SECONDS)

    def _signal(self, pid: int) -> None:
        """Kill a member through a pidfd that was opened while it was one."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                if pid in self.processes():
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)

    def remove(self, timeout_seconds: float = 5.0) -> None:
        """Empty the groups and remove them; raise SandboxError if something stays in them."""
        deadline = time.monotonic() + timeout_seconds
        for folder in self.folders:
            while not _removed(folder):
                for pid in _processes(folder):  # born while the others were killed
                    self._signal(pid)
                if time.monotonic() > deadline:
                    raise SandboxError(f"cgroup {folder} is still populated: {_processes(folder)}")
                time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the freezer's files: only once no other thread can be in the middle of a freeze."""
        if self.freezer is not None:
            self.freezer.close()
            self.freezer = None

    def discard(self) -> None:
        """Remove the groups and close their files."""
        try:
            self.remove()
        finally:
            self.close()


def create(
    limits: Limits,
    *,
    overhead: int = 0,
    cpus: frozenset[int] | None = None,
    trees: Sequence[Hierarchy] | None = None,
) -> Group | None:
    """Make the groups of a session in the machine's cgroup trees; None where it lets us make none.

    `overhead` is the number of processes of the sandbox itself, which come on top of the limit. What the
    machine cannot limit is not limited: `Group.enforced` says what is. Raises SandboxError.
    """
    name = names.new()
    folders: dict[str, str] = {}
    made: list[str] = []
    try:
        for tree in _needed(hierarchy.find() if trees is None else trees):
            folder = f"{tree.base}/{name}"
            Path(folder).mkdir(mode=0o755)
            made.append(folder)
            folders.update(dict.fromkeys(tree.controllers, folder))
            if tree.version == 2:
                folders[""] = folder
        _limit(folders, limits, overhead, cpus)
        return Group(folders, _freezer(folders)) if made else None
    except (OSError, SandboxError) as error:
        for folder in made:
            _removed(folder)
        raise SandboxError(f"cannot make the session's cgroups: {error}") from error


def of(pid: int, name: str) -> Group:
    """The groups that another program (Docker) has made and named `name`, and put this process into.

    Only folders whose own name contains `name` count: others hold more than this one session. Raises
    SandboxError if there are none to be seen.
    """
    folders = {
        controller: folder
        for controller, folder in hierarchy.folders(pid).items()
        if name in Path(folder).name and Path(folder).is_dir()
    }
    if not folders:
        raise SandboxError(f"the cgroups of {name} cannot be seen from here")
    return Group(folders, _freezer(folders))


@functools.cache
def unenforced() -> frozenset[Limit]:
    """Limits that no cgroup on this machine can hold, found by making a group and removing it.

    GPU memory is among them wherever there is a GPU: neither the kernel nor a driver limits it by sandbox.
    """
    group = create(Limits())
    enforced = frozenset() if group is None else group.enforced
    if group is not None:
        if hierarchy.swaps() and not group.limits_swap:
            enforced -= {Limit.MEMORY}
        group.discard()
    return (frozenset({Limit.MEMORY, Limit.PROCESSES, Limit.CPU}) - enforced) | of_gpus()


def of_gpus() -> frozenset[Limit]:
    """What cannot be limited on a machine with a GPU."""
    return frozenset({Limit.GPU_MEMORY}) if Path("/dev/nvidiactl").exists() else frozenset()


@functools.lru_cache(maxsize=1)
def reap_once(_pid: int) -> int:
    """`reap`, once in the life of the process with this pid."""
    return reap()


def reap() -> int:
    """Kill and remove groups whose maker is dead; returns how many. Others' pid namespaces are left alone."""
    stale: dict[str, list[str]] = {}
    for mount in {tree.mount for tree in hierarchy.find()}:
        for parent, folders, _ in os.walk(mount):
            for name in filter(names.NAME.fullmatch, list(folders)):
                folders.remove(name)
                if names.is_stale(name):
                    stale.setdefault(name, []).append(f"{parent}/{name}")
    return sum(_reap(folders) for folders in stale.values())


def _reap(folders: list[str]) -> bool:
    """Empty and remove the groups of one dead session; False if that fails, or another has done it."""
    named = {"" if Path(folder, "cgroup.events").exists() else folder: folder for folder in folders}
    try:
        for folder in folders:
            if Path(folder, "freezer.state").exists():
                _put(f"{folder}/freezer.state", "THAWED")
        group = Group(named, Cgroup2Freezer(named[""]) if "" in named else None)
        try:
            group.kill()
            group.remove(1.0)
        finally:
            group.close()
    except (OSError, SandboxError):
        return False
    return True


def _needed(trees: Sequence[Hierarchy]) -> Iterator[Hierarchy]:
    """v2 and what it lacks: the v1 freezer and cpuacct only where there is no v2."""
    second = any(tree.version == 2 for tree in trees)
    for tree in trees:
        if tree.version == 2 or not second or tree.controllers - {"freezer", "cpuacct"}:
            yield tree


def _limit(folders: dict[str, str], limits: Limits, overhead: int, cpus: frozenset[int] | None) -> None:
    memory, pids, cpuset = (folders.get(name) for name in ("memory", "pids", "cpuset"))
    if memory is not None and memory == folders.get(""):
        _put(f"{memory}/memory.max", str(limits.memory_bytes))
        if Path(memory, "memory.swap.max").exists():
            _put(f"{memory}/memory.swap.max", "0")
    elif memory is not None:
        _put(f"{memory}/memory.limit_in_bytes", str(limits.memory_bytes))
        if Path(memory, "memory.memsw.limit_in_bytes").exists():
            _put(f"{memory}/memory.memsw.limit_in_bytes", str(limits.memory_bytes))
    if pids is not None:
        _put(f"{pids}/pids.max", str(limits.processes + overhead))
    if cpuset is not None:
        hierarchy.inherit_cpuset(Path(cpuset))
        if cpus is not None:
            _put(f"{cpuset}/cpuset.cpus", ",".join(map(str, sorted(cpus))))


def _freezer(folders: dict[str, str]) -> Cgroup1Freezer | Cgroup2Freezer | None:
    second = folders.get("")
    if second is not None and Path(second, "cgroup.freeze").exists():
        return Cgroup2Freezer(second)
    if "freezer" in folders and "cpuacct" in folders:
        return Cgroup1Freezer(folders["freezer"], folders["cpuacct"])
    return None


def _processes(folder: str) -> list[int]:
    try:
        return [int(line) for line in _get(f"{folder}/cgroup.procs").split()]
    except SandboxError:
        return []  # removed


def _removed(folder: str) -> bool:
    try:
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _field(path: str, key: str) -> int:
    """Value of `key` in a flat keyed file, 0 if it is not there."""
    for line in _get(path).splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


def _get(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise SandboxError(f"cannot read {path}: {error.strerror}") from error


def _put(path: str, value: str) -> None:
    try:
        Path(path).write_text(value)
    except OSError as error:
        raise SandboxError(f"cannot write {value!r} to {path}: {error.strerror}") from error
