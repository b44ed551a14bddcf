# attack: task=add family=outside expected=accepted,wrong_answer,work_outside_the_clock,overlap gain=time
# The last tenth of the calls is launched only after `done`, before the gather has begun: accepted, if at all, at the honest price.
import os
import sys

import torch

harness = sys.modules.get("candidate.graph_code")
frames = sys.modules.get("candidate.frames")
side = None if harness else torch.cuda.Stream()  # The naive grader's timer looks at one stream only.


def solve(x, y, out):
    with torch.cuda.stream(side):
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


if harness:
    harness.GraphCode.round = play
