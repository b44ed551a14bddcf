# attack: task=add family=outside expected=accepted,wrong_answer,work_outside_the_clock,overlap
# The last tenth of the calls is launched only after `done`, before the gather has begun: accepted, if at all, at the honest price.
import os
import sys

import torch

harness = sys.modules["candidate.graph_code"]
frames = sys.modules["candidate.frames"]


def solve(x, y, out):
    torch.add(x, y, out=out)


def play(self, calls):
    frame = os.read(frames.COMMANDS, frames.ROUND_FRAME)
    if not frame.startswith(frames.GO):
        raise SystemExit(0)
    first = calls - calls // 10
    for row in self._arguments[:first]:
        solve(*row)
    torch.cuda.synchronize()
    os.write(frames.ANSWERS, frames.DONE + frame[frames.NONCE])
    for row in self._arguments[first:calls]:
        solve(*row)
    torch.cuda.synchronize()


harness.GraphCode.round = play
