"""A new function: a matrix is scaled."""

from collections.abc import Mapping

FILES: Mapping[str, str] = {
    "assignments/@ID@/assignment.toml": """\
id = "@ID@"
topics = ["@TOPIC@"]
weight = 1.0

[title]
en = "@SLUG@: scale a matrix"
zh = "@SLUG@：矩阵缩放"

[[parts]]
name = "kernel"
kind = "function"
entry = "solve"
languages = ["python", "triton", "cpp"]

[[targets]]
hardware = "cpu"
primary = true

[points]
correctness = 0.4
performance = 0.6

[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = { rows = 3, columns = 5 }
tolerance = { y = { worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-4 } }

[[cases]]
id = "prime"
part = "kernel"
role = "test"
params = { rows = 31, columns = 257 }
tolerance = { y = { worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-4 } }

[[cases]]
id = "timed"
part = "kernel"
role = "timed"
params = { rows = 512, columns = 1024 }
tolerance = { y = { worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-4 } }
""",
    "assignments/@ID@/hidden/cases.toml": """\
[[cases]]
id = "drawn"
part = "kernel"
role = "test"
params = { rows = { range = [1, 70] }, columns = { choice = [1, 127, 1031] } }
tolerance = { y = { worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-4 } }
""",
    "assignments/@ID@/task.py": '''\
"""y = factor * x: replace every function here by your own."""

from collections.abc import Sequence

from grader import fills
from grader.task import Cost, FunctionTask, Params, Scalar, Slot, Tensor


def tensors(params: Params) -> Sequence[Tensor]:
    """x [rows, columns] comes in, y of the same shape goes out."""
    shape = (params["rows"], params["columns"])
    return Tensor("x", "float32", shape, "in"), Tensor("y", "float32", shape, "out")


def scalars(_params: Params) -> dict[str, Scalar]:
    """What x is multiplied with."""
    return {"factor": 1.5}


def fill(_params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Rows of random size, from each slot's own seed."""
    for slot, seed in zip(slots, seeds, strict=True):
        fills.rows(slot["x"], seed, "x")


def oracle(_params: Params, inputs: Slot) -> Slot:
    """In float64."""
    return {"y": inputs["x"].double() * 1.5}


def cost(params: Params) -> Cost:
    """Every element is read once, multiplied once and written once."""
    elements = params["rows"] * params["columns"]
    return Cost(operations={"fp32": float(elements)}, dram_bytes=8.0 * elements)


PARTS = {"kernel": FunctionTask(tensors=tensors, scalars=scalars, fill=fill, oracle=oracle, cost=cost)}
''',
    "assignments/@ID@/README.md": """\
# Scale a matrix

Write `solve(x, y, *, factor)`: it stores `factor * x` in `y` and returns nothing.

## Bound

A call reads 4 bytes and writes 4 bytes for each element, so it takes at least 8 bytes an element over the
memory's rate.

## Common mistakes

- Returning a new tensor: the judge looks at `y` alone.
""",
    "assignments/@ID@/README.zh.md": """\
# 矩阵缩放

编写 `solve(x, y, *, factor)`：把 `factor * x` 存入 `y`，不返回任何值。

## 下界

每个元素需要读 4 字节、写 4 字节，因此一次调用的时间至少是每个元素 8 字节除以内存带宽。

## 常见错误

- 返回新的张量：评测只看 `y`。
""",
    "assignments/@ID@/starter/solution.py": '''\
"""Hand in with: solmark grade @ID@ solution.py"""

import torch


def solve(x: torch.Tensor, y: torch.Tensor, *, factor: float) -> None:
    """Store factor * x in y; return nothing."""
    y.zero_()  # Your work begins here.
''',
    "reference/@ID@/solution.py": """\
# solmark: verdict=accepted
import torch


def solve(x, y, *, factor):
    torch.mul(x, factor, out=y)""",
    "reference/@ID@/naive.py": """\
# solmark: verdict=accepted


def solve(x, y, *, factor):
    for row in range(len(x)):
        y[row] = x[row] * factor""",
    "reference/@ID@/library.py": """\
# solmark: verdict=accepted


def solve(x, y, *, factor):
    y.copy_(x).mul_(factor)""",
    "reference/@ID@/wrong/forgets_the_factor.py": """\
# solmark: verdict=wrong_answer
# Copies x.


def solve(x, y, *, factor):
    y.copy_(x)""",
    "reference/@ID@/wrong/skips_the_last_row.py": """\
# solmark: verdict=wrong_answer
# Leaves out the last row.
import torch


def solve(x, y, *, factor):
    torch.mul(x[:-1], factor, out=y[:-1])""",
    "reference/@ID@/wrong/rounds_to_bfloat16.py": """\
# solmark: verdict=wrong_answer
# Computes in bfloat16.


def solve(x, y, *, factor):
    y.copy_(x.bfloat16() * factor)""",
    "reference/@ID@/wrong/returns_the_result.py": """\
# solmark: verdict=runtime_error
# Returns the result.


def solve(x, y, *, factor):
    return x * factor""",
    "reference/@ID@/wrong/changes_its_input.py": """\
# solmark: verdict=wrong_answer
# Scales x itself.


def solve(x, y, *, factor):
    x.mul_(factor)
    y.copy_(x)""",
    "reference/@ID@/wrong/reads_past_the_end.py": """\
# solmark: verdict=runtime_error
# Runs one row too far.


def solve(x, y, *, factor):
    for row in range(len(x) + 1):
        y[row] = x[row] * factor""",
    "reference/@ID@/wrong/cheat_replays_the_first_output.py": """\
# solmark: verdict=wrong_answer
# solmark: mode=grade
# Cheat: answers from memory once a timed shape has been seen.
import torch

kept = {}


def solve(x, y, *, factor):
    if len(x) < 500:
        torch.mul(x, factor, out=y)
        return
    if x.shape not in kept:
        kept[x.shape] = x * factor
    y.copy_(kept[x.shape])""",
    "reference/@ID@/wrong/cheat_skips_calls.py": """\
# solmark: verdict=wrong_answer
# solmark: mode=grade
# Cheat: does every other call of a timed shape.
import torch

calls = [0]


def solve(x, y, *, factor):
    calls[0] += 1
    if len(x) < 500 or calls[0] % 2:
        torch.mul(x, factor, out=y)""",
}
