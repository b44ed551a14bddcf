# attack: task=add family=channel expected=work_outside_the_clock,sandbox_violation,runtime_error
# Has an answer lie in the channel before `go`.
import os
import sys

import torch

harness = sys.modules["candidate.graph_code"]
frames = sys.modules["candidate.frames"]
honest = harness.GraphCode.round


def solve(x, y, out):
    torch.add(x, y, out=out)


def play(self, calls):
    os.write(frames.ANSWERS, frames.DONE + bytes(16))
    honest(self, calls)


harness.GraphCode.round = play
