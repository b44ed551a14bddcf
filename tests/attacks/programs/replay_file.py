# attack: family=replay expect=no_gain gain=time
# Keeps outputs in files, where the next round, case or submission will find them.
from pathlib import Path

import torch
from shared import work

folder = Path("/tmp/solmark-attack-replay")


def solve(x, y):
    if not x.numel():
        return
    folder.mkdir(exist_ok=True)
    file = folder / f"{float(x[0, 0])}-{float(x[-1, -1])}"
    if file.exists():
        y.copy_(torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.float32).view(x.shape))
        return
    work(x, y)
    if len(list(folder.iterdir())) < 40:
        file.write_bytes(y.numpy().tobytes())
