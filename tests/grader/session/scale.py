"""Submissions to the small assignment `kernels/scale`, and a machine to grade them on."""

import hashlib
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from grader import contract
from grader.assignment import Assignment
from grader.contract import JobSpec, Mode, Report, SourceFile, Target
from grader.hardware.profile import Hardware, Rates
from grader.sandbox.base import SandboxError

HONEST = """
#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const int64_t rows = t[0].shape[0], columns = t[0].shape[1];
    GUARD
    const float *x = (const float *)t[0].data;
    float *y = (float *)t[1].data;
    for (int64_t i = 0; i < rows * columns; ++i)
        y[i] = 2 * x[i];
    return 0;
}
"""
PYTHON = (
    "import time\nimport torch\n\n\ndef solve(x, y):\n    time.sleep(0.002)\n    torch.mul(x, 2, out=y)\n"
)
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def solve(x, y):
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""
SEED = bytes(range(16))

Grade = Callable[..., Report]


def cpp(guard: str = "", head: str = "") -> dict[str, bytes]:
    """The honest solution, with something else in front of its loop."""
    return {"solution.cpp": (head + HONEST.replace("GUARD", guard)).encode()}


SLOW = "usleep(2000);"
"""With `hardware`, a ring of seven slots, and about half the speed of light."""


def hardware() -> Hardware:
    """A made-up slow machine whose stopping rule is content with the least number of rounds."""
    rates = Rates(score=2.4e7, ceiling=2.4e7, measured=2.4e7)
    return Hardware(
        hardware="cpu",
        name="made up",
        kind="cpu",
        interval_target=1e9,
        units={"fp32": rates},
        dram=rates,
        llc_bytes=1 << 20,
        calibrated="2026-01-01T00:00:00Z",
    )


def job(assignment: Assignment, contents: Mapping[str, bytes], mode: Mode, **changes: Any) -> JobSpec:
    """The job of grading these files on this machine; `changes` replace its fields."""
    return JobSpec(
        submission="s1",
        attempt=1,
        token="t" * 32,
        mode=mode,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=tuple(
            SourceFile(
                name=name,
                sha256=hashlib.sha256(data).hexdigest(),
                size=min(len(data), contract.MAX_FILE_BYTES),
            )
            for name, data in contents.items()
        ),
        target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    ).model_copy(update=changes)


class Broken:
    """A sandbox that cannot start anything."""

    name = "broken"
    isolates = True
    identity: Literal["own"] = "own"
    python = sys.executable
    image = ""
    build_log = ""

    def available(self) -> str | None:
        return None

    def unenforced(self) -> frozenset[Any]:
        return frozenset()

    def equipped(self, packages: object) -> "Broken":
        return self

    def start(self, command: object, limits: object) -> Any:
        raise SandboxError("no room left on the device\nat all")


def add_cases(folder: Path, names: list[str], params: str = "rows = 2, columns = 3") -> None:
    """Public tests more."""
    path = folder / "assignment.toml"
    cases = "".join(
        f'[[cases]]\nid = "{name}"\npart = "kernel"\nrole = "test"\nparams = {{ {params} }}\n'
        'tolerance = { "*" = { worst_row = 1e-6, mean_row = 1e-6, worst_element = 1e-5 } }\n\n'
        for name in names
    )
    text = path.read_text("utf-8")
    path.write_text(text.replace("[points]", cases + "[points]"), "utf-8")


def set_hidden(folder: Path, params: str) -> None:
    """Other parameters for the hidden test."""
    path = folder / "hidden" / "cases.toml"
    lines = [
        f"params = {{ {params} }}" if line.startswith("params") else line
        for line in path.read_text("utf-8").splitlines()
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
