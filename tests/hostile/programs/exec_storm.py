# hostile: family=processes verdict=time_limit build=time_limit lift=cpu shows=harm
"""Becomes a new program again and again: no image lives long enough to use much."""


def attack():
    import os
    import sys
    import textwrap
    import time

    code = """
    import os, sys, time
    if time.process_time() > float(sys.argv[2]) + int("@CPU@"):
        print("harm: @CPU@ s of CPU time", flush=True)
    else:
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", *sys.argv[1:2], *sys.argv[1:]])
    """
    code = textwrap.dedent(code)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", code, code, str(time.process_time())])


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
