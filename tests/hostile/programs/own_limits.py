# hostile: family=reach verdict=accepted build=accepted lift=sandbox shows=harm
"""Raises its own limits in the cgroup file system."""


def attack():
    import os

    for folder, _, names in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in names:
            try:
                os.close(os.open(f"{folder}/cgroup.procs", os.O_WRONLY))
                print("harm: can leave its cgroup", flush=True)
                break
            except OSError:
                pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
