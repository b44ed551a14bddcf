"""The kernels that the clocks are tried on: from 2 µs to 2 ms, bound by memory or by arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.fills import uniform
from grader.task import Case, Cost, DType, FunctionTask, Params, Product, Slot, Tensor, Tolerance

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Kernel:
    """One program at one size. `linked`: its calls are chained, as those of a short case are."""

    name: str
    program: Path
    size: int
    linked: bool = False

    @property
    def task(self) -> FunctionTask:
        """What it computes."""
        return _add(self.size) if self.program.stem == "add" else _product(self.size)

    @property
    def case(self) -> Case:
        """A timed case of it."""
        tolerance = {"out": _TOLERANCE[self.program.stem]}
        return Case(self.name, "clock", "public", "timed", {}, linked=self.linked, tolerance=tolerance)


_TOLERANCE = {"add": Tolerance(6e-4, 3e-4, 2e-3), "product": Tolerance(4e-3, 2.5e-3, 0.03)}


def _fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:  # noqa: ARG001 (by name)
    for slot, seed in zip(slots, seeds, strict=True):
        for name, tensor in slot.items():
            uniform(tensor, seed, name)


def _tensors(dtype: DType, size: int, names: tuple[str, str]) -> list[Tensor]:
    shape = (size, size)
    left, right = names
    return [
        Tensor(left, dtype, shape, "in"),
        Tensor(right, dtype, shape, "in"),
        Tensor("out", dtype, shape, "out"),
    ]


def _add(size: int) -> FunctionTask:
    return FunctionTask(
        tensors=lambda _params: _tensors("float16", size, ("x", "y")),
        fill=_fill,
        oracle=lambda params, inputs: {"out": inputs["x"].double() + inputs["y"].double()},  # noqa: ARG005
        cost=lambda _params: Cost(dram_bytes=6.0 * size * size, steps=1),
        rowwise=True,
    )


def _product(size: int) -> FunctionTask:
    return FunctionTask(
        tensors=lambda _params: _tensors("bfloat16", size, ("a", "b")),
        fill=_fill,
        oracle=lambda params, inputs: {"out": inputs["a"].double() @ inputs["b"].double()},  # noqa: ARG005
        cost=lambda _params: Cost(operations={"tensor_bf16": 2.0 * size**3}, dram_bytes=6.0 * size * size),
        audit="sampled",
        product=Product("a", "b", "out"),
    )


def _kernels() -> Sequence[Kernel]:
    add, product = PROGRAMS / "add.cu", PROGRAMS / "product.py"
    short = (128, 1024, 4096)
    return (
        *(Kernel(f"add-{size}-linked", add, size, linked=True) for size in short),
        *(Kernel(f"add-{size}", add, size) for size in (*short, 8192, 16384, 32768)),
        Kernel("product-4096", product, 4096),
    )


KERNELS = _kernels()
"""Those without a link are the same programs for all clocks; links are known to the outside clock alone."""
