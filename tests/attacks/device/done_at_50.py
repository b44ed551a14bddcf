# attack: task=add family=outside expected=wrong_answer,work_outside_the_clock gain=time
# Answers `done` when 50 % of the calls have ended, with the rest queued behind.
import os
import sys

import torch

SHARE = 0.50
harness = sys.modules.get("candidate.graph_code")
frames = sys.modules.get("candidate.frames")
side = None if harness else torch.cuda.Stream()  # The naive grader's timer looks at one stream only.


def solve(x, y, out):
    with torch.cuda.stream(side):
        torch.add(x, y, out=out)


def prepare(self, calls):
    if getattr(self, "parts", (0,))[0] != calls:
        first = int(calls * SHARE)
        stream, graphs = torch.cuda.Stream(), []
        for begin, end in ((0, first), (first, calls)):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                for row in self._arguments[begin:end]:
                    solve(*row)
            graph.replay()
            graphs.append(graph)
        torch.cuda.synchronize()
        self.parts = (calls, *graphs)
    return ""


def play(self, calls):
    frame = os.read(frames.COMMANDS, frames.ROUND_FRAME)
    if not frame.startswith(frames.GO):
        raise SystemExit(0)
    _, early, late = self.parts
    early.replay()
    half = torch.cuda.Event()
    half.record()
    late.replay()
    half.synchronize()
    os.write(frames.ANSWERS, frames.DONE + frame[frames.NONCE])
    torch.cuda.synchronize()


if harness:
    harness.GraphCode.prepare_round = prepare
    harness.GraphCode.round = play
