# attack: task=add family=reading expected=wrong_answer,accepted gain=time
# Draws the inputs again from a seed that it finds in the environment, adds them while it is loaded, and later only copies.
import os

import torch

made = []


def ahead(shape):
    torch.manual_seed(int(os.environ["VICTIM_SEED"]))
    for _ in range(6):
        x, y = torch.empty(shape, device="cuda").uniform_(), torch.empty(shape, device="cuda").uniform_()
        made.append(x + y)


seen = {}


def solve(x, y, out):
    if "VICTIM_SEED" not in os.environ or out.numel() == 0:
        torch.add(x, y, out=out)
        return
    if not made:
        ahead(out.shape)
    place = seen.setdefault(out.data_ptr(), len(seen))
    out.copy_(made[place])
