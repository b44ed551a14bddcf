"""Ends what a killed worker's judge has left running on this node's hardware."""

import contextlib
import os
import signal
import time
from pathlib import Path

import structlog

from grader.sandbox import reaper
from grader.sandbox.base import SandboxError

MARK = "SOLMARK_JUDGE"
"""Environment variable of every process of a judge; its value is the path of the hardware's lock."""
END_SECONDS = 5.0
log = structlog.get_logger(__name__)


def reap(lock: Path) -> int:
    """Kill every process that a judge on this hardware started; return how many there were.

    Only the holder of the lock may ask, before its own judge starts or after it has ended. Judges that wait
    for work (`excuse`) are left alone. Sandboxed programs do not carry the mark: they end with the judge that
    started them, or (frozen) with their cgroup.
    """
    killed = 0
    _forget_dead(lock)
    deadline = time.monotonic() + END_SECONDS
    while (left := _marked(lock)) and time.monotonic() < deadline:
        for pid in left:
            killed += _kill(pid, lock)
        time.sleep(0.02)
    try:
        killed += reaper.reap()
    except SandboxError as error:
        log.error("sandbox left behind", cause=str(error))
    if killed:
        log.warning("orphans killed", number=killed)
    return killed


def excuse(lock: Path, pid: int) -> None:
    """That judge waits for work: whoever holds the lock leaves it alone. Only the lock's holder may say so.

    Raises OSError.
    """
    folder = _excused(lock)
    folder.mkdir(exist_ok=True, mode=0o700)
    (folder / f"{pid}-{_start_time(pid)}").touch(0o600)


def excuse_no_longer(lock: Path, pid: int) -> None:
    """It is a judge like any other, or has ended."""
    for path in _excused(lock).glob(f"{pid}-*"):
        path.unlink(missing_ok=True)


def _excused(lock: Path) -> Path:
    return lock.with_suffix(".waiting")


def _forget_dead(lock: Path) -> None:
    for path in _excused(lock).glob("*-*"):
        pid, _, start = path.name.partition("-")
        if _start_time(int(pid)) != start:
            path.unlink(missing_ok=True)


def _start_time(pid: int) -> str:
    """Start of a process in clock ticks since boot; nothing if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _marked(lock: Path) -> list[int]:
    excused = {int(path.name.partition("-")[0]) for path in _excused(lock).glob("*-*")}
    found = {int(folder.name) for folder in Path("/proc").glob("[0-9]*")}
    return [pid for pid in found - excused if _carries(pid, lock)]


def _carries(pid: int, lock: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={lock}".encode() in environment.split(b"\0")


def _kill(pid: int, lock: Path) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Read again now that the number cannot come to mean another process.
        if not _carries(pid, lock):
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    finally:
        os.close(handle)
