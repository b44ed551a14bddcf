# hostile: family=output verdict=runtime_error build=build_error lift=judge shows=raw
"""Says in an exception what a page or a terminal might obey."""


def attack():
    raise ValueError("\x1b[2J<script>alert(1)</script>\x00\u202e" + "\x07" * 100)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
