"""Which sizes of tiles serve which product on a device: every way of the CUDA reference of sol-gemm, tried.

Each is first held against a product in float32 on odd shapes, then timed in a graph over fresh operands,
beside the library, in turns and with pauses, as the judge does; the shapes of linked cases with the judge's
link between calls. Needs nvcc, or a shared object built before:

    python -m benchmarks.gpu.gemm_choices --library choices.so --output choices.json
"""

import argparse
import base64
import ctypes
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from grader.candidate.link import Link
from grader.judge.gpu import kernels, link

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "reference/kernels/sol-gemm/h200/solution.cu"
HEADERS = ROOT / "grader/candidate"
FLAGS = ("-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90a,code=sm_90a")
COLD_BYTES = 12 << 30
"""Operands that a graph goes through at most: a round of the judge fills a ring of this order."""
ROUND_SECONDS, PAUSE_SECONDS, ROUNDS = 0.008, 0.006, 7
MOST_CALLS = 800
CUT_BELOW = 66
"""Tiles: half of the processors."""
LINKED = ("4096x4096x512", "16x7168x2048", "257x4099x1031")


class Way(NamedTuple):
    """Values of `Choice` of solution.cu; all zero leaves it to the solution."""

    consumers: int = 0
    blocks: int = 0
    columns: int = 0
    cluster: int = 0
    resident: int = 0
    swapped: bool = False
    slabs: int = 0
    cut: int = 0
    band: int = 0
    early: bool = False
    height: int = 0


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
    (2, 1, 256, 1, 1, False, 1), (2, 1, 256, 2, 1, False, 1), (2, 1, 192, 2, 1, False, 1),
    (2, 1, 128, 1, 1, False, 1), (1, 1, 16, 1, 2, True, 2), (2, 1, 32, 1, 2, True, 1),
    (2, 1, 64, 1, 2, True, 1), (1, 3, 64, 1, 1, True, 2), (2, 1, 96, 1, 1, True, 1),
    (2, 1, 128, 1, 1, True, 1), (2, 1, 160, 1, 1, True, 1),
]  # fmt: skip
"""`CONFIGURATIONS` of solution.cu."""
HALF = (2, 1, 128, 1, 1, False, 1), (2, 1, 64, 1, 2, True, 1)
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
    """Every way on odd shapes, twice in a row: what is left in scratch memory is used again."""
    torch.backends.cuda.matmul.allow_tf32 = False
    shapes = [
        (1, 1, 1, 0), (65, 130, 72, 0), (333, 520, 1000, 0), (257, 4099, 1031, 0), (700, 300, 4096, 3),
        (100, 2560, 2088, 8), (2050, 2184, 264, 0), (16, 7168, 2048, 0), (1024, 1024, 4104, 0),
        (7, 333, 1160, 8),
    ]  # fmt: skip
    found = []
    for way in ways:
        dtype = torch.float16 if way[:7] in HALF and way.cut == 1 else torch.bfloat16
        worst = []
        for m, n, k, pad in shapes:
            a, b, c = product(m, n, k, dtype, pad)
            for _ in range(2):
                c.fill_(torch.nan)
                solution(a, b, c, way)
                worst.append(error(a, b, c))
        good = max(worst) < 6e-3
        found.append({"way": way, "good": good, "worst": worst})
        print("ok " if good else "BAD", tuple(way), " ".join(f"{x:.1e}" for x in worst), flush=True)
    return found


class Ring:
    """Operands of many calls in one piece of memory, and the link between them where there is one."""

    def __init__(self, name: str) -> None:
        m, n, k = SHAPES[name]
        self.bytes = 2 * (m * k + n * k + m * n)
        sizes = [-(-2 * size // 256) * 256 for size in (m * k, n * k, m * n)]
        stride = sum(sizes)
        bound = max(2 * m * n * k / 800e12, self.bytes / 4.2e12) + (15e-6 if name in LINKED else 2e-6)
        self.calls = max(2, min(MOST_CALLS, COLD_BYTES // stride, int(ROUND_SECONDS / bound)))
        memory = torch.empty(self.calls * stride + 256, dtype=torch.uint8, device="cuda")
        self.slots, self._memory = [], memory
        for call in range(self.calls):
            parts, at = [], call * stride
            for size, (rows, columns) in zip(sizes, ((m, k), (n, k), (m, n)), strict=True):
                part = memory[at : at + 2 * rows * columns].view(torch.bfloat16).view(rows, columns)
                part.normal_()
                parts.append(part)
                at += size
            self.slots.append(tuple(parts))
        self.link: Link | None = None
        if name in LINKED:
            memory[-256:].random_(0, 256)
            command = {
                "image": base64.b64encode(kernels.image(link.SOURCE)).decode(),
                "key": self.calls * stride,
                "outputs": [(sizes[0] + sizes[1], 2 * m * n)],
                "inputs": [(0, 2 * m * k, 2), (sizes[0], 2 * n * k, 2)],
            }
            self.link = Link(command, memory.data_ptr(), 0, stride, self.calls)

    def capture(self, call: Callable[..., object]) -> torch.cuda.CUDAGraph:
        """A graph of all calls; `call` gets a, b, c."""
        call(*self.slots[0])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            stream = torch.cuda.current_stream().cuda_stream
            if self.link is not None:
                self.link.begin(stream)
            for i, slot in enumerate(self.slots):
                call(*slot)
                if self.link is not None and i + 1 < self.calls:
                    self.link.between(i, stream)
        graph.replay()
        torch.cuda.synchronize()
        return graph

    def seconds(self, graphs: Sequence[torch.cuda.CUDAGraph]) -> list[list[float]]:
        """Of one call, for each graph: medians are of rounds in turns, each after a pause."""
        found: list[list[float]] = [[] for _ in graphs]
        for _ in range(ROUNDS):
            for graph, taken in zip(graphs, found, strict=True):
                time.sleep(PAUSE_SECONDS)
                begin, end = (
                    torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
                    for _ in range(2)
                )
                begin.record()
                graph.replay()
                end.record()
                torch.cuda.synchronize()
                taken.append(begin.elapsed_time(end) * 1e-3 / self.calls)
        return [sorted(taken) for taken in found]


def timed(solution: Solution, name: str, ways: Sequence[Way]) -> list[dict[str, Any]]:
    """The library and every way on one shape, in turns."""
    m, n, k = SHAPES[name]
    ring = Ring(name)
    if ring.link is not None:
        graph = ring.capture(lambda _a, _b, _c: None)
        print(f"{name}: the link alone {ring.seconds([graph])[0][ROUNDS // 2] * 1e6:.2f} us", flush=True)
    graphs = [ring.capture(lambda a, b, c: torch.mm(a, b.T, out=c))]
    expected = ring.slots[0][2].float()
    kept: list[Way] = []
    offs: list[float] = []
    for way in ways:
        ring.slots[0][2].fill_(torch.nan)
        try:
            graphs.append(ring.capture(lambda a, b, c, way=way: solution(a, b, c, way)))
        except RuntimeError as failure:
            print(name, tuple(way), failure, flush=True)
            torch.cuda.synchronize()
            continue
        off = (ring.slots[0][2].float() - expected).norm() / expected.norm()
        kept.append(way)
        offs.append(float(off.nan_to_num(nan=9.0)))
    library, *found = ring.seconds(graphs)
    middle = len(library) // 2
    rows: list[dict[str, Any]] = [
        {
            "way": way,
            "seconds": taken[middle],
            "samples": taken,
            "off": off,
            "ratio": library[middle] / taken[middle],
        }
        for way, off, taken in zip(kept, offs, found, strict=True)
    ]
    bound = max(2 * m * n * k / 989.4e12, ring.bytes / 4.8e12)
    print(f"{name}: {ring.calls} calls, library {library[middle] * 1e6:.2f} us "
          f"({library[0] * 1e6:.2f} to {library[-1] * 1e6:.2f}), bound {bound * 1e6:.2f}")  # fmt: skip
    for row in sorted(rows, key=lambda row: row["seconds"]):
        mark = "" if row["off"] < 4e-3 else f"  WRONG {row['off']:.1e}"
        print(f"   {tuple(row['way'])}: {row['seconds'] * 1e6:.2f} us, {row['ratio']:.3f}x{mark}", flush=True)
    return [{"shape": name, "library": library, "bound": bound, "rows": rows}]


def ways_of(name: str) -> list[Way]:
    """What is worth trying on a shape; first of all what the solution chooses."""
    m, n, _ = SHAPES[name]
    found = [Way()]
    if m <= 320:
        entries = [entry for entry in TABLE if entry[5] and entry[2] >= min(m, 96)]
        heights = (0, 56, 144)
        for entry, cut, early, height in itertools.product(entries, (0, 2), (False, True), heights):
            found.append(Way(*entry, cut, 1, early, height))
        return found
    for entry in TABLE[:4]:
        cut = -(-m // (128 * entry[3])) * -(-n // entry[2]) * entry[3] <= CUT_BELOW
        for early, band in itertools.product((False, True), (4, 8, 16)):
            found.append(Way(*entry, 2 if cut else 0, band, early))
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
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    if not arguments.skip_tests:
        tested = [Way(), *(Way(*entry, cut, 8, early=True) for entry in TABLE for cut in (0, 1, 2))]
        tested += [Way(*entry, 0, 8, height=64 * entry[0] * entry[1] - 12) for entry in TABLE if entry[5]]
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
