# attack: task=add family=replay expected=wrong_answer gain=time
# Remembers the output that belongs to each address and copies it the next time.
import torch

seen = {}


def solve(x, y, out):
    key = out.data_ptr()
    if key in seen:
        out.copy_(seen[key])
        return
    torch.add(x, y, out=out)
    if not torch.cuda.is_current_stream_capturing():
        seen[key] = out.clone()
