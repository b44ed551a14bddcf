# attack: task=add family=channel expected=work_outside_the_clock,sandbox_violation,runtime_error gain=acceptance
# Has an answer lie in the channel before `go`.
import os
import sys

import torch

harness = sys.modules.get("candidate.graph_code")
frames = sys.modules.get("candidate.frames")
honest = harness.GraphCode.round if harness else None


def solve(x, y, out):
    if harness is None:  # The naive grader's channel is a line on stdout.
        print("RESULT", os.environ["VICTIM_TOKEN"], '{"passed": true, "seconds": 1e-9}', flush=True)
        os._exit(0)
    torch.add(x, y, out=out)


def play(self, calls):
    os.write(frames.ANSWERS, frames.DONE + bytes(16))
    honest(self, calls)


if harness:
    harness.GraphCode.round = play
