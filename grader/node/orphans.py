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

    Only the holder of the lock may ask, before its own judge starts or after it has ended. Sandboxed programs
    do not carry the mark: they end with the judge that started them, or (frozen) with their cgroup.
    """
    killed = 0
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


def _marked(lock: Path) -> list[int]:
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _carries(int(folder.name), lock)]


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
