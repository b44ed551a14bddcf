"""What a Docker sandbox is: the whole configuration of its container, in the form that the daemon takes."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox import handover, mounts, profile
from grader.sandbox.base import Command, Limits, SandboxError
from grader.sandbox.mounts import Mount, Stub

LABEL = "solmark.session"
"""Label of every container of ours; its value is the name of the session, which tells whose it is."""
INIT = "/solmark/init.py"
OVERHEAD_PROCESSES = 1
"""The container's first process."""
_INIT_SOURCE = Path(__file__).with_name("container_init.py")
_MASKED = (
    # Docker's own list, and what it mounts that no program needs: each is a resource of the kernel or tells
    # about the host.
    *("/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list"),
    *("/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"),
    *("/sys/fs", "/dev/mqueue", "/dev/pts"),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_PROCESSORS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
"""Libraries count CPUs there; all else of /sys is left out."""


@dataclass(frozen=True)
class Session:
    """One sandbox as its container is made: its name, uid and folder (see `handover`)."""

    name: str
    uid: int
    folder: Path


@dataclass(frozen=True)
class Rootfs:
    """The image, its interpreter, and what is mounted over it for every session."""

    image: str
    """Its digest."""
    python: str
    mounts: Sequence[Mount]
    environment: Mapping[str, str]
    """Variables that the image gives its programs."""


def stubs(uid: int) -> list[Stub]:
    """The files that the session's folder holds; Docker would fill the last two from the host's."""
    return [*mounts.stubs(uid, uid), Stub("/etc/resolv.conf", ""), Stub("/etc/hostname", "sandbox\n")]


def configuration(
    rootfs: Rootfs, session: Session, command: Command, limits: Limits, given: Sequence[Mount] = ()
) -> dict[str, Any]:
    """The container, for the daemon's `create`. `given` are the mounts that the command adds.

    Its first process is ours (`container_init`); the program comes to it through the handover.
    """
    return {
        "Image": rootfs.image,
        "User": f"{session.uid}:{session.uid}",
        "Hostname": "sandbox",
        "WorkingDir": mounts.TMP,
        "Entrypoint": [rootfs.python, "-I", "-S", "-B", INIT, handover.INSIDE_SOCKET],
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in _gpu_variables(rootfs, command).items()],
        "Labels": {LABEL: session.name},
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(rootfs, session, command, limits, given),
    }


def _host(
    rootfs: Rootfs, session: Session, command: Command, limits: Limits, given: Sequence[Mount]
) -> dict[str, Any]:
    cpus = os.sched_getaffinity(0) if command.cpus is None else command.cpus
    return {
        "NetworkMode": "none",  # a namespace with nothing but its own loopback, which the filter opens or not
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={json.dumps(profile.document(limits.network))}"],
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,  # together: no swap on top
        "PidsLimit": limits.processes + OVERHEAD_PROCESSES,
        "CpusetCpus": ",".join(map(str, sorted(cpus))),
        "Ulimits": [{"Name": "core", "Soft": 1, "Hard": 1}],  # the program's own come before it starts
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "64k", "max-file": "1"}},
        "RestartPolicy": {"Name": "no"},
        "Init": False,
        "Tmpfs": _scratch(limits)
        | {mount.inside: _COVER for mount in rootfs.mounts if mount.kind == "cover"},
        "Mounts": [_bind(mount) for mount in _binds(rootfs, session, given)],
        "MaskedPaths": _MASKED,
        "ReadonlyPaths": _READ_ONLY,
        **_devices(rootfs, command),
    }


_COVER = "ro,nosuid,nodev,noexec,mode=0555,size=4k"


def _scratch(limits: Limits) -> dict[str, str]:
    """The only places that can be written, and a /sys that is empty but for the processors."""
    folders = {mounts.TMP: limits.disk_bytes, mounts.SHM: limits.shm_bytes}
    # A size of 0 would be no limit; the root folder is an inode too.
    options = f"rw,exec,nosuid,nodev,mode=1777,nr_inodes={limits.inodes + 1}"
    return {folder: f"{options},size={max(size, 1)}" for folder, size in folders.items()} | {"/sys": _COVER}


def _binds(rootfs: Rootfs, session: Session, given: Sequence[Mount]) -> list[Mount]:
    replaced = [
        Mount(stub.path, "bind", str(session.folder / Path(stub.path).name)) for stub in stubs(session.uid)
    ]
    ours = [
        Mount(handover.INSIDE, "bind", str(session.folder)),
        Mount(INIT, "bind", str(_INIT_SOURCE)),
    ]
    processors = [Mount(path, "bind", path) for path in _PROCESSORS if Path(path).exists()]
    return [
        *(mount for mount in rootfs.mounts if mount.kind == "bind" and mount.inside not in _PROCESSORS),
        *(*replaced, *ours, *processors, *given),
    ]


def _bind(mount: Mount) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": mount.source,
        "Target": mount.inside,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _by_runtime(rootfs: Rootfs, command: Command) -> bool:
    """Whether the nvidia runtime adds GPUs, as to an image; the host's folders have its libraries already."""
    return bool(command.gpus) and not rootfs.mounts


def _gpu_variables(rootfs: Rootfs, command: Command) -> dict[str, str]:
    """What the nvidia runtime reads; it gives the program the device files and the driver's libraries."""
    if not _by_runtime(rootfs, command):
        return {}
    return {
        "NVIDIA_VISIBLE_DEVICES": ",".join(command.gpus),
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }


def _devices(rootfs: Rootfs, command: Command) -> dict[str, Any]:
    """The nvidia runtime, or the device files themselves."""
    if _by_runtime(rootfs, command):
        return {"Runtime": "nvidia"}
    for path in command.devices:
        if not path.startswith("/dev/") or ".." in path:
            raise SandboxError(f"{path} is no device file")
    return {
        "Devices": [
            {"PathOnHost": path, "PathInContainer": path, "CgroupPermissions": "rw"}
            for path in command.devices
        ]
    }
