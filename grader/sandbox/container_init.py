"""The first process of a Docker sandbox: is given the program over a socket, starts it, sees to its end.

It is a single file that imports only the standard library, since nothing else of ours is in the container.
Argument: the socket's path. The judge sends one JSON document (argv, environment, rlimits, filter, numbers,
status) and one descriptor for each of `numbers`. Number 0 is a pipe on which the program waits until the
judge has checked it; `status` is told `ready` when it waits there and at last how it ended. `filter` is the
system call filter as a BPF program: the container has a profile that says the same, but Docker's runtime
leaves out those calls whose names it does not know.

The program has the same user, so this process makes itself undumpable: no ptrace, no /proc/1/mem or fd. As
the init of its namespace it cannot be killed from within. It stays when the program has ended, so that the
judge can still read what was used, and ends when the judge does.
"""

import array
import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import sys

_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP, _FILTER = 22, 2
_INSTRUCTION_BYTES = 8
_MOST_DESCRIPTORS = 64
_READ_BYTES = 65536
_NOT_STARTED = 125
_NOT_FOUND = 127
READY = b"ready\n"


def main(path: str) -> None:
    """Until the judge has gone."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    document, received = _receive(path)
    command = json.loads(document)
    held = dict(zip(command["numbers"], received, strict=True))
    status = held.pop(command["status"])
    program = os.fork()
    if program == 0:
        _become(
            command["argv"],
            command["environment"],
            command["rlimits"],
            bytes.fromhex(command["filter"]),
            held,
            status,
        )
    for descriptor in held.values():
        os.close(descriptor)
    _attend(program, status)


def _receive(path: str) -> tuple[bytes, list[int]]:
    """The judge's document and descriptors; the socket is closed when this returns."""
    document = b""
    received = array.array("i")
    with socket.socket(socket.AF_UNIX) as judge:
        judge.connect(path)
        while True:
            size = socket.CMSG_LEN(_MOST_DESCRIPTORS * received.itemsize)
            data, ancillary, _, _ = judge.recvmsg(_READ_BYTES, size)
            for _, _, content in ancillary:
                received.frombytes(content[: len(content) - len(content) % received.itemsize])
            if not data:
                return document, list(received)
            document += data


def _become(
    argv: list[str],
    environment: dict[str, str],
    rlimits: list[tuple[int, tuple[int, int]]],
    instructions: bytes,
    held: dict[int, int],
    status: int,
) -> None:
    """In the child: take the numbers and limits, wait for the judge's word, become the program."""
    os.setsid()
    os.umask(0o022)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and a program would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    highest = max(held) + 1
    # Sources are moved above every target first, so that no dup2 overwrites a later source.
    sources = {number: fcntl.fcntl(source, fcntl.F_DUPFD, highest) for number, source in held.items()}
    status = fcntl.fcntl(status, fcntl.F_DUPFD, highest)
    for number, source in sources.items():
        os.dup2(source, number)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 (no need to load pathlib here)
        if int(name) not in {*sources, status}:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(int(name))
    for kind, (soft, hard) in rlimits:
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
        resource.setrlimit(kind, (soft, hard))
    _load(instructions)
    os.write(status, READY)
    os.close(status)
    if os.read(0, 1) != b"\n":
        os._exit(_NOT_STARTED)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    os._exit(_NOT_FOUND)


def _load(instructions: bytes) -> None:
    """Add this filter to those in force. OSError if the kernel refuses it."""

    class Program(ctypes.Structure):
        """struct sock_fprog."""

        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    program = Program(len(instructions) // _INSTRUCTION_BYTES, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the system call filter was refused")


def _attend(program: int, status: int) -> None:
    """Reap whatever ends; when the program does, kill the rest and tell how. Until the judge has gone."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poller = select.poll()
    poller.register(woken, select.POLLIN)
    poller.register(status, 0)  # only whether its reader is gone
    while True:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == program:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(-1, signal.SIGKILL)
                    os.write(status, b"%d\n" % ended[1])
        ready = [descriptor for descriptor, _ in poller.poll()]
        if status in ready:
            return
        with contextlib.suppress(BlockingIOError):
            os.read(woken, _READ_BYTES)


if __name__ == "__main__":
    main(sys.argv[1])
