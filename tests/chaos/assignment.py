"""The two assignments of a chaos course: one without a limit of attempts to speak of, one with few."""

from pathlib import Path

from grader import bundle
from grader.assignment import load

COURSE = "chaos"
MANY = "kernels/many"
FEW = "kernels/few"
FEW_LIMIT = 4
"""Gradings of `FEW` that a student may use."""
HARDWARE = "cpu"
_TOML = """
id = "{name}"
topics = ["1.4"]
[title]
en = "Doubling"
zh = "加倍"
[[parts]]
name = "kernel"
kind = "function"
languages = ["python"]
[[targets]]
hardware = "cpu"
primary = true
[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = {{ n = 5 }}
[cases.tolerance."*"]
worst_row = 1e-6
mean_row = 1e-6
worst_element = 1e-5
[points]
correctness = 1.0
performance = 0.0
"""
_TASK = """
from grader import fills
from grader.task import Cost, FunctionTask, Tensor


def _fill(params, slots, seeds):
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["x"], seed, "x", -1.0, 1.0)


PARTS = {
    "kernel": FunctionTask(
        tensors=lambda p: [Tensor("x", "float32", (p["n"],), "in"), Tensor("y", "float32", (p["n"],), "out")],
        fill=_fill,
        oracle=lambda p, inputs: {"y": inputs["x"].double() * 2},
        cost=lambda p: Cost({"fp32": p["n"]}, 8.0 * p["n"]),
    )
}
"""


def made(folder: Path) -> list[tuple[bytes, str]]:
    """Archive and manifest of both, read from `folder`, or made and kept there."""
    if not folder.exists():
        for number, assignment in enumerate(_write(folder.with_name(f"{folder.name}-of"))):
            folder.mkdir(exist_ok=True)
            bundle.write(load(assignment), folder / str(number))
    archives = [folder / str(number) for number in range(2)]
    return [(path.read_bytes(), bundle.manifest_file(path).read_text("utf-8")) for path in archives]


def _write(root: Path) -> list[Path]:
    """Write both folders below `root`."""
    folders = []
    for name in (MANY, FEW):
        folder = root / name
        (folder / "starter").mkdir(parents=True)
        (folder / "assignment.toml").write_text(_TOML.format(name=name), "utf-8")
        (folder / "task.py").write_text(_TASK, "utf-8")
        (folder / "README.md").write_text("# Doubling\n", "utf-8")
        (folder / "README.zh.md").write_text("# 加倍\n", "utf-8")
        (folder / "starter" / "solution.py").write_text("def solve(x, y):\n    ...\n", "utf-8")
        folders.append(folder)
    return folders
