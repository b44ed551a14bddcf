"""A small assignment of ranks that run at the same time, its reference and its naive solution."""

from pathlib import Path

TOML = """\
id = "communication/reduce"
topics = ["2.5"]

[title]
en = "All-reduce over loopback"
zh = "回环网络上的 all-reduce"

[[parts]]
name = "reduce"
kind = "collective"
entry = "all_reduce"
languages = ["python"]

[[targets]]
hardware = "cpu"
primary = true

[targets.limits]
warm_up_seconds = 30.0

[[cases]]
id = "two"
part = "reduce"
role = "test"
params = { ranks = 2, elements = 10 }

[[cases]]
id = "four"
part = "reduce"
role = "test"
params = { ranks = 4, elements = 1001, calls = 3 }

[[cases]]
id = "fewer-elements-than-ranks"
part = "reduce"
role = "test"
params = { ranks = 4, elements = 3 }

[[cases]]
id = "large-two"
part = "reduce"
role = "timed"
params = { ranks = 2, elements = 65536 }

[[cases]]
id = "large-four"
part = "reduce"
role = "timed"
params = { ranks = 4, elements = 65536 }
"""
HIDDEN = """\
[[cases]]
id = "drawn"
part = "reduce"
role = "test"
params = { ranks = { range = [1, 4] }, elements = { range = [1, 5000] }, calls = 2 }
"""
TASK = '''\
"""The sum of everybody's vector, on every rank: integers of the whole range of 32 bits, which wrap around.

The bound. Whoever adds, and whatever crosses the loopback: each rank's x must be read by some core at least
once, and each rank's out be written at least once, all of it in the one memory that the ranks share, and cold
when the clock starts. That is 2 n S elements of four bytes over the memory's bandwidth.
"""

import torch

from grader import fills
from grader.task import CollectiveTask, Cost, Tensor


def tensors(params, rank):
    shape = (params["elements"],)
    return Tensor("x", "int32", shape, "in"), Tensor("out", "int32", shape, "out")


def fill(params, rank, slots, seeds):
    for slot, seed in zip(slots, seeds):
        fills.integers(slot["x"], seed, f"x of {rank}", -(1 << 31), (1 << 31) - 1)


def oracle(params, inputs):
    total = torch.stack([one["x"].to(torch.int64) for one in inputs]).sum(0).to(torch.int32)
    return [{"out": total} for _ in inputs]


PARTS = {
    "reduce": CollectiveTask(
        ranks=lambda params: params["ranks"],
        tensors=tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda params: Cost(dram_bytes=8.0 * params["ranks"] * params["elements"]),
        calls=lambda params: params.get("calls", 1),
    )
}
'''
REFERENCE = """\
import torch
import torch.distributed as dist


def all_reduce(x, out):
    rank, size = dist.get_rank(), dist.get_world_size()
    out.copy_(x)
    blocks = [out[at * len(x) // size : (at + 1) * len(x) // size] for at in range(size)]
    after, before = (rank + 1) % size, (rank - 1) % size
    room = torch.empty(len(x) // size + 1, dtype=x.dtype)
    for step in range(2 * (size - 1)):
        sent = blocks[(rank - step) % size]
        into = blocks[(rank - step - 1) % size]
        adds = step < size - 1
        request = dist.isend(sent, after)
        if adds:
            dist.recv(room[: len(into)], before)
            into += room[: len(into)]
        else:
            dist.recv(into, before)
        request.wait()
"""
NAIVE = """\
import torch
import torch.distributed as dist


def all_reduce(x, out):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(x, 0)
        dist.recv(out, 0)
        return
    out.copy_(x)
    room = torch.empty_like(x)
    for other in range(1, size):
        dist.recv(room, other)
        out += room
    for other in range(1, size):
        dist.send(out, other)
"""


def write(root: Path) -> Path:
    """`assignments/communication/reduce` under a folder."""
    folder = root / "assignments" / "communication" / "reduce"
    files = {
        "assignment.toml": TOML,
        "task.py": TASK,
        "README.md": "# All-reduce over loopback\n",
        "README.zh.md": "# 回环网络上的 all-reduce\n",
        "starter/solution.py": "def all_reduce(x, out):\n    pass\n",
        "hidden/cases.toml": HIDDEN,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return folder
