# attack: task=busy family=overlap expected=wrong_answer gain=time
# The calls of a round side by side on eight streams: throughput sold as latency.
import sys

import torch
import triton
import triton.language as tl

STREAMS = 8
side = None
count = 0
module = sys.modules.get("candidate.graph_code")
harness = module.GraphCode if module else None
capture = harness._capture if harness else None


def counted(self, calls):
    global count
    count = 0
    capture(self, calls)


if harness:
    harness._capture = counted


@triton.jit
def busy(x, out, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = v * 0.99999 + 0.00001
    tl.store(out + i, v)


def solve(x, out, *, steps):
    global side, count
    if harness is None:  # The naive grader's timer looks at one stream only.
        side = side or [torch.cuda.Stream()]
        with torch.cuda.stream(side[0]):
            busy[(16,)](x, out, steps, BLOCK=1024, num_warps=8)
        return
    if not torch.cuda.is_current_stream_capturing():
        busy[(16,)](x, out, steps, BLOCK=1024, num_warps=8)
        return
    now = torch.cuda.current_stream()
    if count == 0:
        side = side or [torch.cuda.Stream() for _ in range(STREAMS)]
        start = torch.cuda.Event()
        start.record(now)
        for other in side:
            other.wait_event(start)
    stream = side[count % STREAMS]
    with torch.cuda.stream(stream):
        busy[(16,)](x, out, steps, BLOCK=1024, num_warps=8)
        end = torch.cuda.Event()
        end.record(stream)
    now.wait_event(end)  # Joined at once, but nothing waits for it before the round's end.
    count += 1
