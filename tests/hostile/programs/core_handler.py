# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Lowers the limit on core dumps to 0, for which a handler of the host's runs all the same, as root."""


def attack():
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if resource.getrlimit(resource.RLIMIT_CORE)[0] == 0:
        print("harm: the host's handler would run", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
