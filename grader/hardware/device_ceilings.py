"""What the device at hand reaches at best, by torch and on random data: never on zeros, which run faster."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MATMUL = 8192
COPIED = 4 << 30
"""Bytes; far above any cache."""
BURSTS = 7
STEPS = 1000


@dataclass(frozen=True)
class DeviceCeilings:
    """Best of all bursts: bytes/s of a copy (each byte counted twice), operations/s by unit, seconds of a
    step (one of many dependent kernels in a graph that do next to nothing)."""

    copy: float
    units: Mapping[str, float]
    step_seconds: float
    missing: tuple[str, ...]
    """Units that this torch or device has no product for."""


def measure() -> DeviceCeilings:
    """Measure the current CUDA device; some seconds. Nothing else may run on it."""
    import torch

    generator = torch.Generator("cuda")
    generator.seed()
    copy = 2 * COPIED / _best(_copy(generator), 4)
    units, missing = {}, []
    work = 2.0 * MATMUL**3
    for unit, make in _PRODUCTS.items():
        try:
            product = make(generator)
            units[unit] = work / _best(product, 2 if unit == "fp32" else 8)
        except (RuntimeError, AttributeError, TypeError):  # Not on this device, or not in this torch.
            missing.append(unit)
    torch.cuda.empty_cache()
    return DeviceCeilings(copy, units, _step(), tuple(missing))


def quick() -> tuple[float, float]:
    """(copy in bytes/s, bf16 product in operations/s): the same as `measure` takes them, in 0.2 s."""
    import torch

    generator = torch.Generator("cuda")
    generator.seed()
    product = 2.0 * MATMUL**3 / _best(_plain("bfloat16")(generator), 8)
    copy = 2 * COPIED / _best(_copy(generator), 4)
    torch.cuda.empty_cache()
    return copy, product


Product = Callable[[], object]


def _copy(generator: "torch.Generator") -> Product:
    import torch

    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda").random_(generator=generator)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _normal(generator: "torch.Generator", dtype: "torch.dtype") -> "list[torch.Tensor]":
    import torch

    shape = (MATMUL, MATMUL)
    return [torch.randn(shape, device="cuda", generator=generator).to(dtype) for _ in range(2)]


def _plain(name: str, *, tf32: bool = False) -> "Callable[[torch.Generator], Product]":
    def make(generator: "torch.Generator") -> Product:
        import torch

        a, b = _normal(generator, getattr(torch, name))
        out = torch.empty_like(a)

        def product() -> object:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            return torch.mm(a, b, out=out)

        return product

    return make


def _float8(generator: "torch.Generator") -> Product:
    import torch

    a, b = _normal(generator, torch.float8_e4m3fn)
    one = torch.ones(1, device="cuda")
    return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)  # noqa: SLF001


def _int8(generator: "torch.Generator") -> Product:
    import torch

    shape = (MATMUL, MATMUL)
    a, b = (
        torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda", generator=generator)
        for _ in range(2)
    )
    return lambda: torch._int_mm(a, b.t())  # noqa: SLF001


_PRODUCTS: "Mapping[str, Callable[[torch.Generator], Product]]" = {
    "tensor_bf16": _plain("bfloat16"),
    "tensor_fp16": _plain("float16"),
    "tensor_tf32": _plain("float32", tf32=True),
    "tensor_fp8": _float8,
    "tensor_int8": _int8,
    "fp32": _plain("float32"),
}


def _best(action: Callable[[], object], repeats: int) -> float:
    """Seconds of one action in the fastest of some bursts."""
    import torch

    action()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(BURSTS):
        begin, end = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
            for _ in range(2)
        )
        begin.record()
        for _ in range(repeats):
            action()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) * 1e-3 / repeats)
    return best


def _step() -> float:
    """Seconds of a step: dependent kernels of one element in a graph."""
    import torch

    one = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    one.add_(1)
    with torch.cuda.graph(graph):
        for _ in range(STEPS):
            one.add_(1)
    return _best(graph.replay, 1) / STEPS
