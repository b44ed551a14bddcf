"""What the programs of tests/attacks/device compute: a sum, arithmetic on few blocks, a product."""

from collections.abc import Sequence

import torch

from grader.fills import uniform
from grader.hardware import profile
from grader.judge import timed
from grader.judge.gpu.device import Device
from grader.task import Case, Cost, FunctionTask, Params, Product, Slot, Tensor, Tolerance

STEPS = {"busy": 12000, "long": 120000}


def add_plan(hardware: profile.Hardware, device: Device) -> timed.Plan:
    """An addition bound by memory, 300 MB of traffic."""
    shape = (6144, 4096)
    tensors = [
        Tensor("x", "float32", shape, "in"),
        Tensor("y", "float32", shape, "in"),
        Tensor("out", "float32", shape, "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["x"], seed, "x")
            uniform(slot["y"], seed, "y")

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=lambda _params, inputs: {"out": inputs["x"].double() + inputs["y"].double()},
        cost=lambda _params: Cost(dram_bytes=3.0 * 4 * shape[0] * shape[1]),
        rowwise=True,
    )
    tolerance = {"out": Tolerance(1e-6, 1e-6, 1e-6)}
    case = Case("add", "add", "public", "timed", {}, tolerance=tolerance)
    return timed.plan(task, case, hardware, device)


def busy_plan(hardware: profile.Hardware, device: Device, name: str = "busy") -> timed.Plan:
    """Arithmetic on 16 blocks: most of the device is idle during a call. The short one is linked."""
    size, steps = 16 * 1024, STEPS[name]
    tensors = [Tensor("x", "float32", (size,), "in"), Tensor("out", "float32", (size,), "out")]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["x"], seed, "x")

    def oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001
        factor, term = torch.tensor([0.99999, 0.00001], dtype=torch.float32).double()
        rest = factor**steps
        return {"out": inputs["x"].double() * rest + (1 - rest) * term / (1 - factor)}

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=oracle,
        cost=lambda _params: Cost(operations={"fp32": 2.0 * steps * size}, steps=1),
        scalars=lambda _params: {"steps": steps},
    )
    tolerance = {"out": Tolerance(5e-3, 5e-3, 2e-2)}
    case = Case(name, name, "public", "timed", {}, linked=name == "busy", tolerance=tolerance)
    return timed.plan(task, case, hardware, device)


def long_plan(hardware: profile.Hardware, device: Device) -> timed.Plan:
    """The same ten times as long, and not linked."""
    return busy_plan(hardware, device, "long")


def product_plan(hardware: profile.Hardware, device: Device) -> timed.Plan:
    """A product bound by the tensor cores."""
    shape = (4096, 4096)
    tensors = [
        Tensor("a", "bfloat16", shape, "in"),
        Tensor("b", "bfloat16", shape, "in"),
        Tensor("out", "bfloat16", shape, "out"),
    ]

    def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001
        for slot, seed in zip(slots, seeds, strict=True):
            uniform(slot["a"], seed, "a")
            uniform(slot["b"], seed, "b")

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=fill,
        oracle=lambda _params, inputs: {"out": inputs["a"].double() @ inputs["b"].double()},
        cost=lambda _params: Cost(operations={"tensor_bf16": 2.0 * 4096**3}),
        product=Product("a", "b", "out"),
        audit="sampled",
    )
    tolerance = {"out": Tolerance(4e-3, 2.5e-3, 0.03)}
    case = Case("product", "product", "public", "timed", {}, tolerance=tolerance)
    return timed.plan(task, case, hardware, device)


TASKS = {"add": add_plan, "busy": busy_plan, "long": long_plan, "product": product_plan}
