"""What a sandbox sees of the file system: an allow-list, written as bubblewrap arguments.

System libraries and programs, the interpreter and its environment, all read-only; stubs of the user
database; private /tmp and /dev/shm. Never `/`, never the checkout: where the checkout lies below an allowed
folder it is covered, and only a virtual environment inside it is shown.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def arguments(
    limits: Limits,
    read_only: Mapping[str, Path],
    hidden: Sequence[Path],
    scratch: Mapping[str, str],
    devices: Sequence[str] = (),
) -> list[str]:
    """bubblewrap arguments for all mounts but the stubs.

    `hidden` folders are covered wherever an allowed folder would show them. `scratch` names host folders to
    use as /tmp and /dev/shm; where it lacks one, bubblewrap makes a tmpfs of the limit's size. `devices` are
    device files that the program may open besides the few that every program needs.
    """
    binds = [*_system(), *_environment(hidden), *_extra(read_only, hidden)]
    return [
        *_parents([bind.inside for bind in binds]),
        *(word for bind in binds for word in bind.words),
        *("--proc", "/proc"),
        *_devices(devices),
        *_scratch(TMP, limits.disk_bytes, scratch),
        *_scratch(SHM, limits.shm_bytes, scratch),
        *("--remount-ro", "/dev"),
    ]


@dataclass(frozen=True)
class _Bind:
    """One mount or link: where it is seen inside, and bubblewrap's words for it."""

    inside: str
    words: tuple[str, ...]


def _read_only(host: str, inside: str, option: str = "--ro-bind") -> _Bind:
    return _Bind(inside, (option, host, inside))


def _parents(paths: Sequence[str]) -> Iterator[str]:
    """Folders above the mounts, readable by all: bubblewrap would make them for root alone."""
    above = {str(parent) for path in [*paths, "/etc/stub"] for parent in Path(path).parents} - {"/"}
    for folder in sorted(above):
        if not _within(Path(folder), [Path("/usr")]):
            yield from ("--perms", "0755", "--dir", folder)


def _system() -> Iterator[_Bind]:
    yield _read_only("/usr", "/usr")
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield _Bind(name, ("--symlink", str(path.readlink()), name))
        elif path.is_dir():
            yield _read_only(name, name)
    for name in _OPTIONAL:
        yield _read_only(name, name, "--ro-bind-try")


def _environment(hidden: Sequence[Path]) -> Iterator[_Bind]:
    """The interpreter and its environment at their own paths, and covers over what must stay hidden."""
    shown = [Path("/usr")]
    prefixes = [Path(prefix) for prefix in dict.fromkeys((sys.base_prefix, sys.prefix))]
    for prefix in sorted(prefixes, key=lambda path: len(path.parts)):
        if not _within(prefix, shown):
            yield _read_only(str(prefix), str(prefix))
            shown.append(prefix)
    covers = [folder for folder in hidden if _within(folder, shown)]
    for folder in covers:
        if folder in shown:
            raise SandboxError(f"the interpreter's environment is {folder}, which must stay hidden")
        yield _Bind(str(folder), ("--perms", "0555", "--size", "4096", "--tmpfs", str(folder)))
    for prefix in prefixes:
        if _within(prefix, covers):
            yield _read_only(str(prefix), str(prefix))


def _extra(read_only: Mapping[str, Path], hidden: Sequence[Path]) -> Iterator[_Bind]:
    for inside, host in read_only.items():
        source = host.resolve()
        if any(folder.is_relative_to(source) for folder in hidden):
            raise SandboxError(f"{host} may not be shown to a sandbox: it contains {hidden[0]}")
        yield _read_only(str(source), inside)


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
