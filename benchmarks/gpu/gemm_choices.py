"""Which sizes of tiles serve which product on a device: every way of the CUDA reference of sol-gemm, tried.

Each is first held against a product in float32 on odd shapes, then timed in a graph over fresh operands,
beside the library. Needs nvcc, or a shared object built before:

    python -m benchmarks.gpu.gemm_choices --library choices.so --output choices.json
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "reference/kernels/sol-gemm/h200/solution.cu"
HEADERS = ROOT / "grader/candidate"
FLAGS = ("-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90a,code=sm_90a")
COLD_BYTES = 512 << 20
"""Operands that a graph goes through at least: more than any cache."""
MOST_CALLS = 64
LEAST_REPLAYS, LEAST_SECONDS = 5, 0.06
BESIDE = 3
"""The library is timed again after so many ways: a device that has become warm is slower for all."""


class Way(NamedTuple):
    """Values of `Choice` of solution.cu; all zero leaves it to the solution."""

    consumers: int = 0
    blocks: int = 0
    columns: int = 0
    cluster: int = 0
    resident: int = 0
    swapped: bool = False
    cut: int = 0
    band: int = 0
    early: bool = True


class _Tensor(ctypes.Structure):
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


DTYPES = {torch.float16: 2, torch.bfloat16: 3}
TABLE = [
    (2, 1, 256, 2, 1, False), (2, 1, 256, 1, 1, False), (2, 1, 192, 2, 1, False), (2, 1, 128, 1, 1, False),
    (1, 1, 16, 1, 2, True), (2, 1, 32, 1, 2, True), (2, 1, 64, 1, 2, True), (1, 3, 64, 1, 1, True),
    (2, 1, 96, 1, 1, True), (2, 1, 128, 1, 1, True), (2, 1, 160, 1, 1, True),
]  # fmt: skip
"""`CONFIGURATIONS` of solution.cu."""
HALF = (2, 1, 128, 1, 1, False), (2, 1, 64, 1, 2, True)
"""Those that there are for float16 too."""
SHAPES = {
    "8192x8192x8192": (8192, 8192, 8192),
    "4096x4096x4096": (4096, 4096, 4096),
    "4096x4096x512": (4096, 4096, 512),
    "64x18432x7168": (64, 18432, 7168),
    "16x7168x2048": (16, 7168, 2048),
    "8192x1024x16384": (8192, 1024, 16384),
    "1024x1024x65536": (1024, 1024, 65536),
    "4096x14336x4096": (4096, 14336, 4096),
    "257x4099x1031": (257, 4099, 1031),
    "4099x4093x4091": (4099, 4093, 4091),
    "61x18433x7177": (61, 18433, 7177),
    "1021x1019x65521": (1021, 1019, 65521),
    "8191x2053x3067": (8191, 2053, 3067),
}


class Solution:
    """The shared object, with the way to be taken set from outside."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._choice = (ctypes.c_int * len(Way._fields)).in_dll(self._library, "sol_gemm_choice")
        self._keep: list[Any] = []

    def __call__(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, way: Way) -> None:
        """Queue one product. Raises RuntimeError with what `solve` returned, if that is not 0."""
        self._choice[:] = [int(value) for value in way]
        tensors = (_Tensor * 3)()
        for i, tensor in enumerate((a, b, c)):
            shape = (ctypes.c_int64 * 2)(*tensor.shape)
            strides = (ctypes.c_int64 * 2)(*tensor.stride())
            self._keep = [*self._keep[-5:], shape, strides]
            tensors[i] = _Tensor(tensor.data_ptr(), shape, strides, b"", 2, DTYPES[tensor.dtype], 0, 0)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self._library.solve(tensors, 3, None, 0, stream)
        if status != 0:
            raise RuntimeError(f"{way}: status {status}")


def product(
    m: int, n: int, k: int, dtype: torch.dtype, pad: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random operands; with `pad` cut out of wider matrices, from the second element on."""
    made = []
    for rows, columns in ((m, k), (n, k), (m, n)):
        wide = torch.randn(rows * (columns + pad) + pad, device="cuda").to(dtype)
        made.append(wide.as_strided((rows, columns), (columns + pad, 1), 1 if pad else 0))
    made[2].fill_(torch.nan)
    a, b, c = made
    return a, b, c


def error(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> float:
    """Worst row's error; infinity where something was not written."""
    expected = a.float() @ b.float().T
    rows = (c.float() - expected).norm(dim=1) / expected.norm(dim=1)
    return float(rows.nan_to_num(nan=torch.inf).max())


def correct(solution: Solution, ways: Sequence[Way]) -> list[dict[str, Any]]:
    """Every way on odd shapes."""
    torch.backends.cuda.matmul.allow_tf32 = False
    shapes = [
        (1, 1, 1, 0), (65, 130, 72, 0), (333, 520, 1000, 0), (257, 4099, 1031, 0), (700, 300, 4096, 3),
        (100, 2560, 2088, 8), (2050, 2184, 264, 0), (16, 7168, 2048, 0),
    ]  # fmt: skip
    found = []
    for way in ways:
        dtype = torch.float16 if way[:6] in HALF and way.cut == 1 else torch.bfloat16
        worst = []
        for m, n, k, pad in shapes:
            a, b, c = product(m, n, k, dtype, pad)
            solution(a, b, c, way)
            first = error(a, b, c)
            c.fill_(torch.nan)
            solution(a, b, c, way)
            worst.append(max(first, error(a, b, c)))
        good = max(worst) < 6e-3
        found.append({"way": way, "good": good, "worst": worst})
        print("ok " if good else "BAD", tuple(way), " ".join(f"{x:.1e}" for x in worst), flush=True)
    return found


def seconds(call: Callable[[int], object], calls: int) -> float:
    """Of one call, in a graph of `calls` calls: the median of replays after one, which last LEAST_SECONDS."""
    for i in range(min(calls, 2)):
        call(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            call(i)
    graph.replay()
    taken: list[float] = []
    while len(taken) < LEAST_REPLAYS or sum(taken) * calls < LEAST_SECONDS:
        begin, end = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
            for _ in range(2)
        )
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end) * 1e-3 / calls)
    return sorted(taken)[len(taken) // 2]


def timed(solution: Solution, name: str, ways: Sequence[Way]) -> list[dict[str, Any]]:
    """The library and every way on one shape."""
    m, n, k = SHAPES[name]
    size = 2 * (m * k + n * k + m * n)
    calls = max(2, min(MOST_CALLS, -(-COLD_BYTES // size)))
    slots = [product(m, n, k, torch.bfloat16) for _ in range(calls)]

    def own() -> float:
        return seconds(lambda i: torch.mm(slots[i][0], slots[i][1].T, out=slots[i][2]), calls)

    def with_way(way: Way) -> float:
        return seconds(lambda i: solution(*slots[i], way), calls)

    libraries = [own()]
    expected = slots[0][2].float()
    rows: list[dict[str, Any]] = []
    for number, way in enumerate(ways):
        slots[0][2].fill_(torch.nan)
        try:
            taken = with_way(way)
        except RuntimeError as failure:
            print(name, way, failure, flush=True)
            torch.cuda.synchronize()
            continue
        off = float(((slots[0][2].float() - expected).norm() / expected.norm()).nan_to_num(nan=9.0))
        if number % BESIDE == BESIDE - 1:
            libraries.append(own())
        rows.append({"shape": name, "way": way, "seconds": taken, "off": off, "beside": libraries[-1]})
    for row in rows:
        row["ratio"] = row["beside"] / row["seconds"]
    library = sorted(libraries)[len(libraries) // 2]
    bound = max(2 * m * n * k / 989.4e12, size / 4.8e12)
    spread = f"{min(libraries) * 1e6:.1f} to {max(libraries) * 1e6:.1f}"
    print(f"{name}: library {library * 1e6:.1f} us ({spread}), {bound / library:.1%} of the bound")
    for row in sorted(rows, key=lambda row: row["seconds"])[:8]:
        mark = "" if row["off"] < 4e-3 else f"  WRONG {row['off']:.1e}"
        print(f"   {tuple(row['way'])}: {row['seconds'] * 1e6:.1f} us, {row['ratio']:.3f}x, "
              f"{bound / row['seconds']:.1%}{mark}", flush=True)  # fmt: skip
    return [{"shape": name, "library": library, "libraries": libraries, "bound": bound, "rows": rows}]


def ways_of(name: str) -> list[Way]:
    """What is worth trying on a shape."""
    m, _, _ = SHAPES[name]
    narrow = m <= 512
    found = [Way()]
    for entry in TABLE:
        columns, swapped = entry[2], entry[5]
        if narrow != swapped or (swapped and columns >= 2 * max(16, m) and columns > 16):
            continue
        if swapped and m <= 64 and columns < m:
            continue
        for cut in (0, 1, 3):
            found += [Way(*entry, cut, 1 if narrow else 8, early) for early in (False, True)]
    return found


def build(library: Path) -> None:
    """Compile with the door through which a way is set."""
    command = ["nvcc", *FLAGS, "-DSOL_GEMM_TUNE", f"-I{HEADERS}", str(SOURCE), "-o", str(library)]
    subprocess.run(command, check=True)


def main() -> int:
    """Try all; 0 if every way was right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, default=Path("/tmp/choices.so"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--skip-tests", action="store_true")
    arguments = parser.parse_args()
    begin = time.monotonic()
    if not arguments.library.exists():
        build(arguments.library)
    solution = Solution(arguments.library)
    document: dict[str, Any] = {"tests": [], "shapes": []}
    if not arguments.skip_tests:
        tested = [Way(*entry, cut, 8) for entry in TABLE for cut in (0, 1, 2, 3)]
        document["tests"] = correct(solution, tested)
        print(f"tests: {time.monotonic() - begin:.1f} s", flush=True)
    for name in arguments.shapes:
        document["shapes"] += timed(solution, name, ways_of(name))
        if arguments.output:
            arguments.output.write_text(json.dumps(document))
    print(f"{time.monotonic() - begin:.1f} s", flush=True)
    return 0 if all(test["good"] for test in document["tests"]) else 1


if __name__ == "__main__":
    sys.exit(main())
