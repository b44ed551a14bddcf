"""What a sandbox sees of the file system: an allow-list, also written as bubblewrap arguments.

System libraries and programs, the interpreter and its environment, all read-only; stubs of the user
database; private /tmp and /dev/shm. Never `/`, never the checkout: where the checkout lies below an allowed
folder it is covered, and only a virtual environment inside it is shown.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.sandbox.base import Limits, SandboxError

TMP = "/tmp"  # noqa: S108 - a path inside, private to the sandbox
SHM = "/dev/shm"  # noqa: S108
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_OPTIONAL = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/sys/devices/system/cpu",  # libraries count CPUs here
    "/sys/devices/system/node",
)
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True)
class Stub:
    """A small read-only file that the sandbox gets in place of the host's."""

    path: str
    content: str


def stubs(uid: int, gid: int) -> list[Stub]:
    """The user database and name service as seen inside: root and the candidate, local files only."""
    return [
        Stub("/etc/passwd", f"root:x:0:0:root:/:/bin/false\ncandidate:x:{uid}:{gid}::/tmp:/bin/sh\n"),
        Stub("/etc/group", f"root:x:0:\ncandidate:x:{gid}:\n"),
        Stub("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        Stub("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ]


@dataclass(frozen=True)
class Mount:
    """One thing of the allow-list: a read-only bind of `source`, a link to it, or an empty cover."""

    inside: str
    kind: Literal["bind", "link", "cover"]
    source: str = ""

    def words(self) -> tuple[str, ...]:
        """bubblewrap's words for it."""
        if self.kind == "cover":
            return ("--perms", "0555", "--size", "4096", "--tmpfs", self.inside)
        return ("--symlink" if self.kind == "link" else "--ro-bind", self.source, self.inside)


def allowed(read_only: Mapping[str, Path], hidden: Sequence[Path]) -> list[Mount]:
    """System, interpreter and its environment, and what `read_only` adds, in the order of mounting.

    `hidden` folders are covered wherever an allowed folder would show them; SandboxError where one cannot be.
    """
    return [*_system(), *_environment(hidden), *added(read_only, hidden)]


def arguments(
    limits: Limits,
    read_only: Mapping[str, Path],
    hidden: Sequence[Path],
    scratch: Mapping[str, str],
    devices: Sequence[str] = (),
) -> list[str]:
    """bubblewrap arguments for all mounts but the stubs.

    `scratch` names host folders to use as /tmp and /dev/shm; where it lacks one, bubblewrap makes a tmpfs of
    the limit's size. `devices` are device files that the program may open besides the few that every program
    needs. `read_only` and `hidden` are as for `allowed`.
    """
    mounts = allowed(read_only, hidden)
    return [
        *_parents([mount.inside for mount in mounts]),
        *(word for mount in mounts for word in mount.words()),
        *("--proc", "/proc"),
        *_devices(devices),
        *_scratch(TMP, limits.disk_bytes, scratch),
        *_scratch(SHM, limits.shm_bytes, scratch),
        *("--remount-ro", "/dev"),
    ]


def _parents(paths: Sequence[str]) -> Iterator[str]:
    """Folders above the mounts, readable by all: bubblewrap would make them for root alone."""
    above = {str(parent) for path in [*paths, "/etc/stub"] for parent in Path(path).parents} - {"/"}
    for folder in sorted(above):
        if not _within(Path(folder), [Path("/usr")]):
            yield from ("--perms", "0755", "--dir", folder)


def _system() -> Iterator[Mount]:
    yield Mount("/usr", "bind", "/usr")
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield Mount(name, "link", str(path.readlink()))
        elif path.is_dir():
            yield Mount(name, "bind", name)
    for name in _OPTIONAL:
        if Path(name).exists():
            yield Mount(name, "bind", name)


def _environment(hidden: Sequence[Path]) -> Iterator[Mount]:
    """The interpreter and its environment at their own paths, and covers over what must stay hidden."""
    shown = [Path("/usr")]
    prefixes = [Path(prefix) for prefix in dict.fromkeys((sys.base_prefix, sys.prefix))]
    for prefix in sorted(prefixes, key=lambda path: len(path.parts)):
        if not _within(prefix, shown):
            yield Mount(str(prefix), "bind", str(prefix))
            shown.append(prefix)
    covers = [folder for folder in hidden if _within(folder, shown)]
    for folder in covers:
        if folder in shown:
            raise SandboxError(f"the interpreter's environment is {folder}, which must stay hidden")
        yield Mount(str(folder), "cover")
    for prefix in prefixes:
        if _within(prefix, covers):
            yield Mount(str(prefix), "bind", str(prefix))


def added(read_only: Mapping[str, Path], hidden: Sequence[Path]) -> Iterator[Mount]:
    """What a command adds to the allow-list; SandboxError for a folder that contains a hidden one."""
    for inside, host in read_only.items():
        source = host.resolve()
        if any(folder.is_relative_to(source) for folder in hidden):
            raise SandboxError(f"{host} may not be shown to a sandbox: it contains {hidden[0]}")
        yield Mount(inside, "bind", str(source))


def _devices(more: Sequence[str]) -> Iterator[str]:
    """The least that programs need: no terminals (a kernel-wide resource), no /dev/mqueue."""
    yield from ("--perms", "0755", "--tmpfs", "/dev")
    for name in _DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    for path in more:
        if not path.startswith("/dev/") or ".." in path:
            raise SandboxError(f"{path} is no device file")
        yield from ("--dev-bind", path, path)
    yield from ("--symlink", "/proc/self/fd", "/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        yield from ("--symlink", f"/proc/self/fd/{number}", f"/dev/{name}")


def _scratch(path: str, size: int, scratch: Mapping[str, str]) -> Iterator[str]:
    if path in scratch:
        yield from ("--bind", scratch[path], path)
    else:
        # bubblewrap takes no size below one page.
        yield from ("--perms", "1777", "--size", str(max(size, 4096)), "--tmpfs", path)


def _within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def checkout() -> Path | None:
    """Root of the source tree that this package runs from; None when it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if os.path.lexists(root / "pyproject.toml") else None
