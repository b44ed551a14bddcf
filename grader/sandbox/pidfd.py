"""Processes held by pidfd: a number that is never given to another process."""

import contextlib
import fcntl
import os
import select
import signal
import struct

_INFO = struct.Struct("=QQ11Ii")
"""struct pidfd_info, first version: mask, cgroup id, pids and ids, exit code."""
_INFO_IOCTL = 0xC040FF0B
"""PIDFD_GET_INFO: _IOWR(0xFF, 11, struct of 64 bytes)."""
_INFO_EXIT = 1 << 3

Status = tuple[int | None, int | None]
"""(exit code, signal): one of them, or neither when nobody knows."""


def ended(pidfd: int, timeout_seconds: float = 0.0) -> bool:
    """Whether the process has ended, or ends within the timeout."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(max(timeout_seconds, 0.0) * 1e3))


def is_of(pidfd: int, pid: int) -> bool:
    """Whether this is the process with that pid, as this process numbers them."""
    with open(f"/proc/self/fdinfo/{pidfd}") as file:  # noqa: PTH123
        return f"\nPid:\t{pid}\n" in file.read()


def kill(pidfd: int) -> None:
    """Send SIGKILL, if the process is still there."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def reap(pidfd: int) -> Status:
    """Take the status of an ended child of ours; neither if somebody else has."""
    try:
        result = os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
    except ChildProcessError:
        return None, None
    if result is None:
        return None, None
    return (result.si_status, None) if result.si_code == os.CLD_EXITED else (None, result.si_status)


def status(pidfd: int) -> Status:
    """How any ended process ended, as its parent learnt it. Neither before Linux 6.15."""
    request = bytearray(_INFO.pack(_INFO_EXIT, *([0] * 13)))
    try:
        fcntl.ioctl(pidfd, _INFO_IOCTL, request)
    except OSError:
        return None, None
    mask, *_, waited = _INFO.unpack(request)
    if not mask & _INFO_EXIT:
        return None, None
    return (
        (None, os.WTERMSIG(waited)) if os.WIFSIGNALED(waited) else (os.waitstatus_to_exitcode(waited), None)
    )
