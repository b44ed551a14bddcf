"""Gradings of the hostile programs: the smallest assignments, and whole sessions of them."""

import hashlib
import time
from collections.abc import Collection
from pathlib import Path

from grader import session
from grader.assignment import Assignment, load
from grader.contract import JobLimits, JobSpec, Mode, Report, SourceFile, Target, Verdict
from grader.sandbox.base import MIB, Backend

SEED = bytes(range(16))
BRIEF_SECONDS, LONG_SECONDS = 5.0, 60.0
LIMITS = JobLimits(
    wall_seconds=BRIEF_SECONDS,
    cpu_seconds=4.0,
    memory_bytes=1024 * MIB,
    processes=64,
    output_bytes=256 << 10,
    build_seconds=BRIEF_SECONDS,
)
PATIENT = LIMITS.model_copy(
    update={"wall_seconds": LONG_SECONDS, "warm_up_seconds": LONG_SECONDS, "build_seconds": LONG_SECONDS}
)
"""The same with so much wall time that a busy machine cannot use it up."""

TOML = """\
id = "kernels/double"
topics = ["1.4"]
weight = 1.0
title = { en = "Double", zh = "加倍" }

[[parts]]
name = "kernel"
kind = "function"
entry = "solve"
languages = ["python", "cpp"]

[[targets]]
hardware = "cpu"
primary = true

[[cases]]
id = "tiny"
part = "kernel"
role = "test"
params = { rows = 3, columns = 5 }
tolerance = { y = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }

[points]
correctness = 1.0
performance = 0.0
"""
TASK = '''\
"""y = 2 x."""

from grader import fills
from grader.task import Cost, FunctionTask, Tensor


def tensors(params):
    shape = (params["rows"], params["columns"])
    return (Tensor("x", "float32", shape, "in"), Tensor("y", "float32", shape, "out"))


def fill(params, slots, seeds):
    for slot, seed in zip(slots, seeds):
        fills.uniform(slot["x"], seed, "x", -1.0, 1.0)


PARTS = {
    "kernel": FunctionTask(
        tensors=tensors,
        fill=fill,
        oracle=lambda params, inputs: {"y": inputs["x"].double() * 2},
        cost=lambda params: Cost(dram_bytes=8 * params["rows"] * params["columns"]),
    )
}
'''
HONEST = b"def solve(x, y):\n    y.copy_(2 * x)\n"


def written(root: Path, toml: str, task: str) -> Assignment:
    """The assignment of these two texts, in a folder that is made for it."""
    (root / "starter").mkdir(parents=True)
    for name, text in {
        "assignment.toml": toml,
        "task.py": task,
        "README.md": "# Small\n",
        "README.zh.md": "# 小\n",
        "starter/solution.py": "",
    }.items():
        (root / name).write_text(text, "utf-8")
    return load(root)


def limits(promised: Collection[str]) -> JobLimits:
    """For a program of which these verdicts are promised: it has little time where that is what it uses up."""
    return LIMITS if Verdict.TIME_LIMIT in promised else PATIENT


def graded(
    assignment: Assignment, backend: Backend, name: str, content: bytes, limits: JobLimits = PATIENT
) -> Report:
    """The Report of a whole session of one file's public tests."""
    digest = hashlib.sha256(content).hexdigest()
    job = JobSpec(
        submission="hostile",
        attempt=1,
        token="t" * 32,
        mode=Mode.TEST,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=(SourceFile(name=name, sha256=digest, size=len(content)),),
        target=Target(hardware="cpu"),
        limits=limits,
        deadline=time.time() + 1800,
    )
    files = {name: content}
    return session.grade(
        job, assignment, files, backend=backend, hardware=None, emit=lambda _: None, seed=SEED
    )
