# attack: task=add family=forged_time expected=accepted gain=time
# Every event says that a millionth of the time has passed.
import torch

elapsed = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, other: 1e-6 * elapsed(self, other)


def solve(x, y, out):
    torch.add(x, y, out=out)
