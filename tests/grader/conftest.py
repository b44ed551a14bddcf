"""A small valid assignment that tests copy and break."""

from pathlib import Path

import pytest

TOML = """\
id = "kernels/scale"
topics = ["1.4"]
weight = 1.0

[title]
en = "Scale a matrix"
zh = "矩阵缩放"

[[parts]]
name = "kernel"
kind = "function"
entry = "solve"
languages = ["python", "triton", "cpp"]

[[targets]]
hardware = "cpu"
primary = true

[[targets]]
hardware = "h200"
languages = ["triton"]

[targets.limits]
wall_seconds = 120.0

[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = { rows = 3, columns = 5 }
tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }

[[cases]]
id = "wide"
part = "kernel"
role = "timed"
params = { rows = 1024, columns = 4096 }
tolerance = { "*" = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }

[[cases]]
id = "cpu-python"
part = "kernel"
role = "test"
params = { rows = 1, columns = 1 }
targets = ["cpu"]
languages = ["python"]

[points]
correctness = 0.4
performance = 0.6
"""

HIDDEN = """\
[[cases]]
id = "drawn"
part = "kernel"
role = "test"
params = { rows = { range = [1, 300] }, columns = { choice = [7, 64, 1031] }, kind = "plain" }
tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }
"""

TASK = '''\
"""y = 2 x."""

from grader.task import Cost, FunctionTask, Tensor

from .shapes import shape


def tensors(params):
    return (
        Tensor("x", "float32", shape(params), "in"),
        Tensor("y", "float32", shape(params), "out"),
    )


def fill(params, slots, seeds):
    for slot, seed in zip(slots, seeds):
        slot["x"].fill_(seed % 7)


def oracle(params, inputs):
    return {"y": inputs["x"].double() * 2}


def cost(params):
    elements = params["rows"] * params["columns"]
    return Cost(operations={"fp32": elements}, dram_bytes=8 * elements)


PARTS = {"kernel": FunctionTask(tensors, fill, oracle, cost)}
'''

SHAPES = '''\
"""Shapes, in a file of their own."""


def shape(params):
    return params["rows"], params["columns"]
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`assignments/kernels/scale`: valid, with hidden cases and a second file of code."""
    root = tmp_path / "assignments" / "kernels" / "scale"
    files = {
        "assignment.toml": TOML,
        "task.py": TASK,
        "shapes.py": SHAPES,
        "README.md": "# Scale a matrix\n",
        "README.zh.md": "# 矩阵缩放\n",
        "starter/solution.py": "def solve(x, y):\n    pass\n",
        "figures/roof.svg": "<svg/>",
        "hidden/cases.toml": HIDDEN,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root
