"""Inputs that are indices: programs that read where they say, right after a case that left none in the slots.

The first case of a session leaves any integers in every slot; in the second the same places hold rows of a
table. A harness captures the calls of a round and makes them once before it is filled: on what, shows here.
For `steps.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.gpu import sessions
from grader.fills import integers, uniform
from grader.hardware.profile import Hardware
from grader.judge import timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor, Tolerance

ROWS, WIDTH, TAKEN = 4096, 64, 1 << 15
SLOTS = 64
CASES = ("any-integers", "rows-of-the-table")
"""Of one session, in this order."""
FAR = 1 << 62

CUDA = b"""#include <cuda_runtime.h>
#include "solmark.h"
static __global__ void take(const float *table, const int64_t *index, float *out, int64_t rows, int64_t width,
                            int64_t any) {
    int64_t row = index[blockIdx.x];
    if (any)
        row = (row % rows + rows) % rows;
    out[blockIdx.x * width + threadIdx.x] = table[row * width + threadIdx.x];
}
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *s, int, void *stream) {
    const int64_t rows = t[0].shape[0], width = t[0].shape[1];
    take<<<t[1].shape[0], width, 0, (cudaStream_t)stream>>>(
        (const float *)t[0].data, (const int64_t *)t[1].data, (float *)t[2].data, rows, width,
        s[0].value.integer);
    return cudaGetLastError();
}
"""
PYTHON = b"""import torch
def solve(table, index, out, *, any_integer):
    torch.index_select(table, 0, index.remainder(len(table)) if any_integer else index, out=out)
"""
PROGRAMS = {"cuda": ("solution.cu", CUDA), "python": ("solution.py", PYTHON)}


def check_arming(device: Device, hardware: Hardware) -> list[dict[str, Any]]:
    """An honest program in each kind of harness is accepted in both cases."""
    backend = registry.choose(None)
    plans = [replace(plan, slots=plan.slots[:SLOTS]) for plan in map(_plan(device, hardware), CASES)]
    result = []
    for what, (name, data) in PROGRAMS.items():
        program = sessions.program(name, data, backend, device.compiler_flags)
        session = sessions.run(program, plans, backend, device, hardware, once=True)
        device.check_clean()
        accepted = len(session.timings) == len(CASES) and session.verdict.value == "accepted"
        result.append(
            {
                "what": what,
                "held": accepted,
                "verdict": session.verdict.value,
                "cases": len(session.timings),
                "message": session.message[:300],
            }
        )
    return result


def _plan(device: Device, hardware: Hardware) -> Callable[[str], timed.Plan]:
    tensors = [
        Tensor("table", "float32", (ROWS, WIDTH), "in"),
        Tensor("index", "int64", (TAKEN,), "in"),
        Tensor("out", "float32", (TAKEN, WIDTH), "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        low, high = (-FAR, FAR) if params["any"] else (0, ROWS - 1)
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["table"], seed, "table")
            integers(slot["index"], seed, "index", low, high)

    def oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001
        return {"out": inputs["table"].double()[inputs["index"].remainder(ROWS)]}

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda _params: Cost(dram_bytes=4.0 * (ROWS * WIDTH + TAKEN * (2 + WIDTH))),
        scalars=lambda params: {"any_integer": params["any"]},
    )
    tolerance = {"out": Tolerance(1e-6, 1e-6, 1e-6)}

    def plan(name: str) -> timed.Plan:
        params = {"any": name == CASES[0]}
        return timed.plan(
            task, Case(name, "take", "public", "timed", params, tolerance=tolerance), hardware, device
        )

    return plan
