"""Measures what one number of cores of this CPU can do at best: a process of its own, pinned, one JSON line.

`python -m grader.hardware.ceilings <cpus> <seconds> [<library>]`, with the numbers of the CPUs separated by
commas, and the library that `build` made. Every figure comes from bursts of at least 10 ms, as a round of the
judge is, over memory that no cache holds any more.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.languages import cpp_compiler

if TYPE_CHECKING:
    import torch

RING_BYTES = 512 << 20
"""Size of a judge's ring on a CPU: half of it is read, half written."""
BURST_SECONDS = 0.010
PATIENCE = 2.0
MATMUL_SIZES = (768, 1024, 1536)
_CHUNK_BYTES = 16 << 20
_REST_SECONDS = 0.005
_FMA_ROUNDS = 200_000
_FLAGS = ("-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared")
_COMPILE_SECONDS = 60.0


@dataclass
class Series:
    """Rates of the bursts of one kernel, in bytes or operations per second."""

    rates: list[float] = field(default_factory=list)
    """By the clock."""
    cpu_rates: list[float] = field(default_factory=list)
    """By the CPU time that was had on every core: other programs cannot lower these."""

    @property
    def best(self) -> float:
        """The fastest burst."""
        return max(self.rates)

    @property
    def settled(self) -> bool:
        """Whether the best burst was no accident: the third best is within 5 % of it."""
        return len(self.rates) >= 3 and sorted(self.rates)[-3] >= 0.95 * self.best

    @property
    def median(self) -> float:
        """The typical burst."""
        return statistics.median(self.rates)


@dataclass(frozen=True)
class Ceilings:
    """Rates by kernel: `copy`, `torch_copy`, `read` in bytes/s (a copy moves each byte twice), `matmul` and
    `fma` in operations/s. Kernels in C++ are missing where there is no g++."""

    best: dict[str, float]
    median: dict[str, float]
    undisturbed: dict[str, float]
    """The best by CPU time: not reached here, but what a quiet machine may reach."""
    bursts: dict[str, int]


Step = Callable[[], float]
"""Runs a kernel once; returns the amount of work, in bytes or operations."""


def measure(cpus: Sequence[int], seconds: float, library: Path | None = None) -> Ceilings:
    """Pin this process to the CPUs and measure for about so many seconds, kernels in turn.

    Beside other work it goes on for as long again, until the best figures have settled. torch must not have
    been used in this process before: its threads keep the CPUs they started on.
    """
    os.sched_setaffinity(0, cpus)
    os.environ["OMP_NUM_THREADS"] = str(len(cpus))
    import torch

    torch.set_num_threads(len(cpus))
    steps: dict[str, Step] = {}
    native = None if library is None else load(library)
    memory = _Memory()
    steps["torch_copy"] = memory.step(lambda to, source: _ignore(to.copy_(source)), 2)
    if native is not None:
        steps["copy"] = memory.step(
            lambda to, source: native.ceiling_copy(to.data_ptr(), source.data_ptr(), source.nbytes), 2
        )
        steps["read"] = memory.step(
            lambda _to, source: _ignore(native.ceiling_read(source.data_ptr(), source.nbytes)), 1
        )
        steps["fma"] = _fma(native)
    for size in MATMUL_SIZES:
        steps[f"matmul {size}"] = _matmul(size)
    series = {name: Series() for name in steps}
    for step in steps.values():
        _burst(step)  # Loads the code, starts the threads, raises the clock.
    started = time.monotonic()
    while True:
        elapsed = time.monotonic() - started
        measured = all(entry.rates for entry in series.values())
        settled = all(entry.settled for entry in series.values())
        if measured and elapsed >= (seconds if settled else PATIENCE * seconds):
            break
        for name, step in steps.items():
            # Threads of the kernel before spin on for a while; a candidate too comes out of a freeze.
            time.sleep(_REST_SECONDS)
            amount, wall, cpu = _burst(step)
            series[name].rates.append(amount / wall)
            series[name].cpu_rates.append(amount * len(cpus) / cpu)
    best_size = max(
        (name for name in series if name.startswith("matmul")), key=lambda name: series[name].best
    )
    chosen = {name: entry for name, entry in series.items() if not name.startswith("matmul")}
    chosen["matmul"] = series[best_size]
    return Ceilings(
        best={name: entry.best for name, entry in chosen.items()},
        median={name: entry.median for name, entry in chosen.items()},
        undisturbed={name: max(entry.cpu_rates) for name, entry in chosen.items()},
        bursts={name: len(entry.rates) for name, entry in chosen.items()},
    )


def _burst(step: Step) -> tuple[float, float, float]:
    """Repeat a step for at least BURST_SECONDS: its amount, the seconds by the clock and by the CPUs."""
    amount = 0.0
    cpu = time.process_time()
    started = time.perf_counter()
    while (wall := time.perf_counter() - started) < BURST_SECONDS:
        amount += step()
    return amount, wall, time.process_time() - cpu


class _Memory:
    """A ring in shared memory, like a judge's: each chunk is cold again when its turn comes."""

    def __init__(self) -> None:
        import numpy as np
        import torch

        from grader.judge.arena import Arena

        self._arena = Arena(RING_BYTES)
        whole = self._arena.bytes()
        half = RING_BYTES // 2
        # Random bytes: zeros are faster on some machines.
        random = np.random.Generator(np.random.SFC64()).integers(0, 1 << 63, half // 8, dtype=np.int64)
        whole[:half].copy_(torch.from_numpy(random).view(torch.uint8))
        whole[half:].copy_(whole[:half])
        self._sources = whole[:half].view(-1, _CHUNK_BYTES)
        self._targets = whole[half:].view(-1, _CHUNK_BYTES)
        self._places = self._walk()

    def _walk(self) -> Iterator[int]:
        while True:
            yield from range(len(self._sources))

    def step(self, kernel: "Callable[[torch.Tensor, torch.Tensor], None]", crossings: int) -> Step:
        """A kernel on the next chunk, each byte of which it moves `crossings` times."""

        def run() -> float:
            place = next(self._places)
            kernel(self._targets[place], self._sources[place])
            return float(crossings * _CHUNK_BYTES)

        return run


def _matmul(size: int) -> Step:
    import torch

    a, b = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size)

    def run() -> float:
        torch.mm(a, b, out=out)
        return 2.0 * size**3

    return run


def _fma(native: ctypes.CDLL) -> Step:
    operations = ctypes.c_double()

    def run() -> float:
        native.ceiling_fma(_FMA_ROUNDS, ctypes.byref(operations))
        return operations.value

    return run


def build(folder: Path) -> Path | None:
    """Compile the kernels in C++ into that folder; None without g++. Raises CalledProcessError."""
    compiler = cpp_compiler()
    if compiler is None:
        return None
    source = Path(__file__).with_name("ceilings.cpp")
    product = folder / "ceilings.so"
    command = [compiler, *_FLAGS, str(source), "-o", str(product)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_COMPILE_SECONDS)
    return product


def load(path: Path) -> ctypes.CDLL:
    """The kernels that `build` compiled (see `ceilings.cpp` for what each does)."""
    library = ctypes.CDLL(str(path))
    library.ceiling_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    library.ceiling_copy.restype = None
    library.ceiling_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.ceiling_read.restype = ctypes.c_uint64
    library.ceiling_fma.argtypes = [ctypes.c_int64, ctypes.POINTER(ctypes.c_double)]
    library.ceiling_fma.restype = ctypes.c_float
    return library


def _ignore(_value: object) -> None:
    return


def main(arguments: Sequence[str]) -> int:
    """Measure and print one line of JSON."""
    cpus, seconds, *library = arguments
    found = measure(
        [int(cpu) for cpu in cpus.split(",")], float(seconds), Path(library[0]) if library else None
    )
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
