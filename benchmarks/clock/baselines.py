"""The clocks in common use, on the same kernels in one process: do_bench, events around each call, ncu.

`python -m benchmarks.clock.baselines KERNEL` runs one kernel some times on cold caches, for ncu to look at.
"""

import csv
import ctypes
import io
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.clock.kernels import KERNELS, Kernel
from grader.candidate import native_code
from grader.judge import compilers

CANDIDATE = Path(native_code.__file__).parent
FLUSHED_BYTES = 256 << 20
CALLS = 100
WARM_UP, REPEAT = 10, 60
"""Milliseconds, as do_bench takes them."""
NCU_CALLS = 15
METRICS = {
    "gpu__time_duration.sum": "ncu",
    "dram__bytes_read.sum": "ncu read",
    "dram__bytes_write.sum": "ncu written",
    "sm__cycles_elapsed.avg.per_second": "ncu sm",
}
"""Of ncu, and what `measure` calls them: seconds, bytes, hertz."""
NCU = (
    "ncu", "--clock-control", "none", "--cache-control", "all", "--csv", "--print-units", "base",
    "--metrics", ",".join(METRICS),
)  # fmt: skip
_SCALE = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "cycle/nsecond": 1e9, "cycle/ns": 1e9}


class Arguments:
    """One slot's worth of a kernel's tensors, and a call of its program on them."""

    def __init__(self, kernel: Kernel) -> None:
        tensors = kernel.task.tensors({})
        self._tensors = {
            t.name: torch.rand(t.shape, device="cuda").to(getattr(torch, t.dtype)) for t in tensors
        }
        self._keep: list[object] = []
        self.call: Callable[[], object]
        if kernel.program.suffix == ".py":
            space: dict[str, Callable[..., object]] = {}
            exec(compile(kernel.program.read_text("utf-8"), kernel.program.name, "exec"), space)
            solve, given = space["solve"], tuple(self._tensors.values())
            self.call = lambda: solve(*given)
        else:
            self.call = self._native(kernel)

    def _native(self, kernel: Kernel) -> Callable[[], object]:
        library = ctypes.CDLL(str(_compiled(kernel.program)))
        count = len(self._tensors)
        descriptors = (native_code._Tensor * count)()  # noqa: SLF001
        for place, (name, tensor) in enumerate(self._tensors.items()):
            shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            dtype = str(tensor.dtype).removeprefix("torch.")
            kind = native_code._DTYPES.index(dtype)  # noqa: SLF001
            descriptors[place] = native_code._Tensor(  # noqa: SLF001
                tensor.data_ptr(), shape, strides, name.encode(), tensor.dim(), kind, 0, 0
            )
            self._keep += [shape, strides]

        def call() -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            if status := library.solve(descriptors, count, None, 0, stream):
                raise RuntimeError(f"solve returned {status}")

        return call


def do_bench(call: Callable[[], object]) -> float:
    """Seconds by triton.testing.do_bench, its median."""
    import triton.testing

    milliseconds = triton.testing.do_bench(call, warmup=WARM_UP, rep=REPEAT, return_mode="median")
    return float(milliseconds) * 1e-3


def events(call: Callable[[], object], *, clean: bool = False) -> float:
    """Seconds by a pair of events around each call, after a flush; the median.

    The flush writes, and leaves the cache full of lines that the call must write back; if `clean`, it reads.
    """
    flushed = torch.zeros(FLUSHED_BYTES // 4, dtype=torch.int32, device="cuda")
    pairs = []
    for _ in range(CALLS):
        if clean:
            flushed.sum()
        else:
            flushed.zero_()
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]  # type: ignore[no-untyped-call, unused-ignore]
        pair[0].record()
        call()
        pair[1].record()
        pairs.append(pair)
    torch.cuda.synchronize()
    seconds = [float(begin.elapsed_time(end)) * 1e-3 for begin, end in pairs]
    return statistics.median(seconds)


def ncu(kernel: Kernel) -> dict[str, list[float]]:
    """By ncu, caches flushed and clocks as they are: what each call of the kernel took (`METRICS`).

    Nothing where ncu does not work.
    """
    if shutil.which(NCU[0]) is None:
        return {}
    command = [*NCU, sys.executable, "-m", "benchmarks.clock.baselines", kernel.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    text = done.stdout[done.stdout.find('"ID"') :]
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        name = METRICS.get(row.get("Metric Name") or "")
        if name is not None:
            value = float(row["Metric Value"].replace(",", ""))
            found.setdefault(name, []).append(value * _SCALE.get(row["Metric Unit"], 1.0))
    return {name: values[-NCU_CALLS:] for name, values in found.items()}


def _compiled(source: Path) -> Path:
    """A shared object of the source alone, made as the judge makes it."""
    major, minor = torch.cuda.get_device_capability()
    code = f"{major}{minor}a"
    target = Path("/tmp") / f"solmark-clock-{source.stem}-{code}.so"
    if not target.exists():
        flags = compilers.flags(source.name, (f"-gencode=arch=compute_{code},code=sm_{code}",))
        command = ["nvcc", *flags, f"-I{CANDIDATE}", str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
    return target


def main() -> None:
    """Run one kernel: its last calls are those that count."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == sys.argv[1])
    arguments = Arguments(kernel)
    for _ in range(NCU_CALLS):
        arguments.call()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
