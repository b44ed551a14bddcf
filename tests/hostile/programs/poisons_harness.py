# hostile: family=disk verdict=accepted build=accepted lift=sandbox shows=harm
"""Opens the harness's own source for writing."""


def attack():
    for folder in ("/solmark/candidate", "@ROOT@/grader/candidate"):
        try:
            open(f"{folder}/harness.py", "ab").close()
            print("harm: can change the harness", flush=True)
        except OSError:
            pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
