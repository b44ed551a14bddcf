"""A naive grader on a device, the positive control of the attacks there: submission, clock and check share one process.

Reads one JSON line a program from stdin (`{"path", "task", "token", "seed"}`; a path ends in .py or .so), grades
each in a process of its own, and prints one JSON line about it. It makes the mistakes that graders in use make:
the same buffers and values in every round, no poison, events on one stream, a constant that an empty call of the
submission sets, a check after the fact that reads the submission's own inputs, of the last slot, by one norm.
"""

import ctypes
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

SLOTS, ROUNDS, SECONDS = 6, 7, 25.0
SHAPES = {
    "add": (("float32", (6144, 4096)),) * 3,
    "busy": (("float32", (16384,)),) * 2,
    "long": (("float32", (16384,)),) * 2,
    "product": (("bfloat16", (4096, 4096)),) * 3,
}
STEPS = {"busy": 12000, "long": 120000}
DTYPES = ("float64", "float32", "float16", "bfloat16")
Tensors = tuple[torch.Tensor, ...]


class _Tensor(ctypes.Structure):
    """`solmark_tensor` of solmark.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("name", ctypes.c_char_p),
        ("dimensions", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("role", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


class _Scalar(ctypes.Structure):
    """`solmark_scalar` of solmark.h, of an integer."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("reserved", ctypes.c_int32), ("value", ctypes.c_int64)
    )  # fmt: skip


def native(path: str, task: str) -> Callable[[Tensors], object]:
    """The function `solve` of a shared object, on the default stream."""
    library = ctypes.CDLL(path)
    scalars = (_Scalar * 1)(_Scalar(b"steps", 1, 0, STEPS.get(task, 0)))

    def solve(tensors: Tensors) -> None:
        descriptors, keep = (_Tensor * len(tensors))(), []
        for place, tensor in enumerate(tensors):
            shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            keep += [shape, strides]
            dtype = DTYPES.index(str(tensor.dtype).removeprefix("torch."))
            descriptors[place] = _Tensor(tensor.data_ptr(), shape, strides, b"t", tensor.dim(), dtype)
        library.solve(descriptors, len(tensors), scalars, 1 if task in STEPS else 0, None)

    return solve


def python(path: str, task: str) -> Callable[[Tensors], object]:
    """The function `solve` of a module."""
    spec = importlib.util.spec_from_file_location("solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["solution"] = module
    spec.loader.exec_module(module)
    scalars = {"steps": STEPS[task]} if task in STEPS else {}
    return lambda tensors: module.solve(*tensors, **scalars)


def oracle(task: str, inputs: Tensors) -> torch.Tensor:
    """What a call should give."""
    if task == "add":
        return inputs[0].double() + inputs[1].double()
    if task == "product":
        return inputs[0].double() @ inputs[1].double()
    factor, term = torch.tensor([0.99999, 0.00001], dtype=torch.float32).double()
    rest = factor ** STEPS[task]
    result: torch.Tensor = inputs[0].double() * rest + (1 - rest) * term / (1 - factor)
    return result


def fill(slots: list[Tensors]) -> None:
    """The same values every time."""
    torch.manual_seed(int(os.environ["VICTIM_SEED"]))
    for *inputs, _out in slots:
        for tensor in inputs:
            tensor.uniform_()


def grade(path: str, task: str) -> dict[str, Any]:
    """Load, time, check."""
    slots = [
        tuple(torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda") for dtype, shape in SHAPES[task])
        for _ in range(SLOTS)
    ]
    fill(slots)
    expected = [oracle(task, slot[:-1]) for slot in slots[-1:]]
    solve = (python if path.endswith(".py") else native)(path, task)
    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]  # type: ignore[no-untyped-call, unused-ignore]

    def timed(tensors: Tensors) -> float:
        pair[0].record()
        solve(tensors)
        pair[1].record()
        torch.cuda.synchronize()
        return float(pair[0].elapsed_time(pair[1])) * 1e-3

    solve(slots[0])
    torch.cuda.synchronize()
    constant = 0.0
    if task == "add":
        none = tuple(torch.empty((0, 4096), device="cuda") for _ in range(3))
        constant = statistics.median(timed(none) for _ in range(3))
    flushed = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    calls = []
    for _ in range(ROUNDS):
        fill(slots)
        flushed.zero_()
        torch.cuda.synchronize()
        time.sleep(0.005)
        calls += [timed(slot) for slot in slots]
    time.sleep(0.03)
    torch.cuda.synchronize()
    *inputs, out = slots[-1]
    expected.append(oracle(task, tuple(inputs)))
    off = float((out.double() - expected[-1]).norm())
    passed = off <= 0.05 * max(1.0, float(expected[-1].norm()))
    return {"passed": passed, "seconds": statistics.median(calls) - constant}


def child(job: dict[str, Any], out: int) -> None:
    """Grade one program and leave."""
    os.dup2(out, 1)
    os.environ |= {"VICTIM_TOKEN": job["token"], "VICTIM_SEED": str(job["seed"])}
    found = grade(job["path"], job["task"])
    print(f"RESULT {job['token']} {json.dumps(found)}", flush=True)  # noqa: T201
    os._exit(0)


def main() -> None:
    """Each job in a child that is forked before anything of CUDA has begun here."""
    for line in sys.stdin:
        job = json.loads(line)
        scratch = Path(job["path"]).with_suffix(".victim")
        out = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        pid = os.fork()
        if pid == 0:
            try:
                child(job, out)
            finally:
                os._exit(1)
        os.close(out)
        end = time.monotonic() + SECONDS
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                break
            time.sleep(0.02)
        said = scratch.read_text("utf-8", "replace").splitlines()
        mine = [entry for entry in said if entry.startswith(f"RESULT {job['token']} ")]
        found = json.loads(mine[-1].split(" ", 2)[2]) if mine else {"passed": False, "seconds": None}
        print(json.dumps(found), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
