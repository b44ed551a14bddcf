# attack: task=add family=outside expected=work_outside_the_clock gain=time
# Queues the whole round behind a wait for the last output's poison, which the fill writes: it starts before `go`.
import ctypes
import os
import sys

import torch

harness = sys.modules.get("candidate.graph_code")
frames = sys.modules.get("candidate.frames")
side = None if harness else torch.cuda.Stream()  # The naive grader's timer looks at one stream only.
cuda = ctypes.CDLL("libcuda.so.1")
POISON = 0x7FC5A5C3


def solve(x, y, out):
    with torch.cuda.stream(side):
        torch.add(x, y, out=out)


def prepare(self, calls):
    if getattr(self, "whole", (0,))[0] != calls:
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for row in self._arguments[:calls]:
                solve(*row)
        graph.replay()
        torch.cuda.synchronize()
        self.whole = (calls, graph, torch.cuda.Stream())
    _, graph, stream = self.whole
    last = self._arguments[calls - 1][2]
    address = last.data_ptr() + last.numel() * 4 - 4
    with torch.cuda.stream(stream):
        status = cuda.cuStreamWaitValue32_v2(
            ctypes.c_void_p(stream.cuda_stream), ctypes.c_uint64(address), ctypes.c_uint32(POISON), 1
        )
        if status:
            raise RuntimeError(f"cuStreamWaitValue32: {status}")
        graph.replay()
    return ""


def play(self, calls):
    frame = os.read(frames.COMMANDS, frames.ROUND_FRAME)
    if not frame.startswith(frames.GO):
        raise SystemExit(0)
    torch.cuda.synchronize()
    os.write(frames.ANSWERS, frames.DONE + frame[frames.NONCE])


if harness:
    harness.GraphCode.prepare_round = prepare
    harness.GraphCode.round = play
