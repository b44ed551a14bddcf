"""Three layers of the GPU judge, tried before anything was built on them.

1. A candidate that answers `done` before its work is finished, against a clock that stops when the
   judge's own gather of the outputs has ended.
2. A sparse link between the calls of a round, evaded by computing ahead and repairing; the dense link.
3. The constant c: an empty round of a native candidate, the whole sequence included.

Run on a machine with one CUDA device, nvcc, torch and cuda-bindings:

    python benchmarks/gpu/round_layers/judge.py --output benchmarks/results/round_layers.h200.json
"""

import argparse
import json
import os
import secrets
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from cuda.bindings import driver, nvrtc

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
GIB = 1 << 30
SETUP = struct.Struct("<c3xiIIQQd")
FRAME = struct.Struct("<c7xQ")
HONEST, EARLY_DONE, DELAYED_DONE = range(3)
MATRIX = 256
POISON = float("nan")

KERNELS = r"""
extern "C" __global__ void watchdog(unsigned long long *gap_out, volatile unsigned *host,
                                    volatile unsigned *stop) {
  long long now, last = clock64(), gap = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) { host[1] = 1; __threadfence_system(); }
  while (!*stop) {
    now = clock64(); if (now - last > gap) gap = now - last; last = now;
    if (blockIdx.x == 0 && threadIdx.x == 0 && host[0]) *stop = 1;
  }
  if (threadIdx.x == 0) atomicMax(gap_out, (unsigned long long)gap);
}
"""


def check(result: tuple[Any, ...]) -> Any:
    """The values of a driver or nvrtc call; raises on its error."""
    if int(result[0]):
        raise RuntimeError(f"CUDA error {result[0]}")
    values = result[1:]
    return values[0] if len(values) == 1 else values


def compile_kernel(source: str, name: str) -> Any:
    """A kernel of the judge's own, compiled at run time for this device."""
    major, minor = torch.cuda.get_device_capability()
    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"judge.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
    image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    module = check(driver.cuModuleLoadData(image))
    return check(driver.cuModuleGetFunction(module, name.encode()))


class Arena:
    """Device memory shared by a POSIX descriptor, seen here as a torch tensor."""

    def __init__(self, size: int) -> None:
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = 0
        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        properties.requestedHandleTypes = kind
        granularity = check(
            driver.cuMemGetAllocationGranularity(
                properties, driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
            )
        )
        self.size = size = -(-size // granularity) * granularity
        handle = check(driver.cuMemCreate(size, properties, 0))
        self.descriptor = int(check(driver.cuMemExportToShareableHandle(handle, kind, 0)))
        base = int(check(driver.cuMemAddressReserve(size, 0, 0, 0)))
        check(driver.cuMemMap(base, size, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = 0
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(base, size, [access], 1))
        self.__cuda_array_interface__ = {
            "shape": (size // 4,),
            "typestr": "<f4",
            "data": (base, False),
            "version": 3,
        }
        self.floats = torch.as_tensor(self, device="cuda")


class Candidate:
    """The native program, its pipes, and the slots that it and the judge agree on."""

    def __init__(self, program: Path, arena: Arena) -> None:
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        os.set_inheritable(arena.descriptor, True)
        self.process = subprocess.Popen(
            [program, str(arena.descriptor), str(arena.size), str(to_read), str(to_write)],
            pass_fds=[arena.descriptor, to_read, to_write],
        )
        os.close(to_read)
        os.close(to_write)
        self.armed = False
        self.expect(b"r")

    def expect(self, what: bytes) -> int:
        """The nonce of the next frame, which must be of the kind named."""
        data = os.read(self.back, FRAME.size)
        kind, nonce = FRAME.unpack(data)
        if kind != what:
            raise RuntimeError(f"the candidate answered {kind!r} in place of {what!r}")
        return int(nonce)

    def set_up(
        self, op: bytes, calls: int, mode: int, key: int, tensor_bytes: int, delay_us: float = 0.0
    ) -> None:
        """Have it capture `calls` calls of `op` (see candidate.cu) over slots of three tensors."""
        if self.armed:
            os.write(self.to, FRAME.pack(b"s", 0))
        os.write(self.to, SETUP.pack(op, calls, mode, key, 3 * tensor_bytes, tensor_bytes, delay_us))
        self.armed = op != b"q"
        if self.armed:
            self.expect(b"p")


class Judge:
    """One sealed round: fill, poison, evict, watchdog, clock, go, done, gather."""

    def __init__(self, candidate: Candidate, arena: Arena) -> None:
        self.candidate, self.arena = candidate, arena
        self.watchdog = compile_kernel(KERNELS, "watchdog")
        self.units = torch.cuda.get_device_properties(0).multi_processor_count
        self.gap = torch.zeros(1, dtype=torch.int64, device="cuda")
        self.stop = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.host = torch.zeros(2, dtype=torch.int32).pin_memory()
        self.flags = self.host.numpy()
        self.junk = torch.empty(GIB // 4, dtype=torch.uint8, device="cuda")

    def _launch_watchdog(self) -> None:
        pointers = torch.tensor(
            [self.gap.data_ptr(), self.host.data_ptr(), self.stop.data_ptr()], dtype=torch.int64
        )
        addresses = torch.tensor([pointers.data_ptr() + 8 * i for i in range(3)], dtype=torch.int64)
        stream = torch.cuda.current_stream().cuda_stream
        check(
            driver.cuLaunchKernel(
                self.watchdog, 2 * self.units, 1, 1, 1024, 1, 1, 0, stream, addresses.data_ptr(), 0
            )
        )

    def round(
        self, fill: Callable[[], object], gather: Callable[[], object], evict: bool = True
    ) -> tuple[float, float, int]:
        """(seconds to `done`, seconds to the end of the gather, largest gap in cycles)."""
        self.gap.zero_()
        self.stop.zero_()
        self.flags[:] = 0
        torch.cuda.synchronize()
        fill()
        if evict:
            self.junk.zero_()
        self._launch_watchdog()
        while not self.flags[1]:
            pass
        time.sleep(0.0003)  # the dwell: queued work of the candidate that can start shows itself in the gap
        nonce = secrets.randbits(64)
        frame = FRAME.pack(b"g", nonce)
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self.flags[0] = 1
        os.write(self.candidate.to, frame)
        if self.candidate.expect(b"d") != nonce:
            raise RuntimeError("the nonce came back wrong")
        done = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        gather()
        torch.cuda.synchronize()
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return (done - start) * 1e-9, (end - start) * 1e-9, int(self.gap.item())


def quantiles(values: list[float]) -> dict[str, float]:
    """Minimum, quartiles and maximum, as the results file keeps them."""
    ordered = sorted(values)
    low, middle, high = statistics.quantiles(ordered, n=4)
    return {"min": ordered[0], "q1": low, "median": middle, "q3": high, "max": ordered[-1]}


def try_gather(judge: Judge, candidate: Candidate, rows: list[dict[str, Any]], rounds: int) -> None:
    """Experiment 1: `done` before the work is finished."""
    elements, calls, kept = 16 << 20, 200, 4
    slots = judge.arena.floats[: calls * 3 * elements].view(calls, 3, elements)
    whole = torch.empty(kept, elements, device="cuda")
    places = torch.empty(calls, 64, device="cuda")
    honest_end = 0.0
    for name, mode, share in (
        ("honest", HONEST, 0.0),
        ("done at once", EARLY_DONE, 0.0),
        ("done at 50 %", DELAYED_DONE, 0.5),
        ("done at 90 %", DELAYED_DONE, 0.9),
        ("done at 98 %", DELAYED_DONE, 0.98),
    ):
        candidate.set_up(b"a", calls, mode, 0, elements * 4, share * honest_end * 1e6)
        to_done, to_end, caught, late_slots = [], [], 0, []
        for _ in range(rounds):
            drawn = torch.tensor(sorted(secrets.SystemRandom().sample(range(calls), kept)), device="cuda")
            index = torch.randint(elements, (64,), device="cuda")

            def fill() -> None:
                slots[:, :2].uniform_(-1, 1)
                slots[:, 2] = POISON

            def gather(index: torch.Tensor = index, drawn: torch.Tensor = drawn) -> None:
                # The last slots first: whoever is late is late there.
                places.copy_(slots[:, 2].index_select(1, index))
                torch.index_select(slots[:, 2], 0, drawn, out=whole)

            done, end, _ = judge.round(fill, gather)
            to_done.append(done)
            to_end.append(end)
            expected = slots[:, 0, index] + slots[:, 1, index]
            wrong = (places != expected).any(dim=1)
            wrong_whole = (whole != slots[drawn, 0] + slots[drawn, 1]).any()
            caught += bool(wrong.any() or wrong_whole)
            late_slots.append(float(wrong.sum()))
        if mode == HONEST:
            honest_end = statistics.median(to_done)
        rows.append(
            {
                "experiment": "gather", "candidate": name, "calls": calls, "rounds": rounds, "caught": caught,
                "late_slots_median": statistics.median(late_slots), "seconds_to_done": quantiles(to_done),
                "seconds_to_gather_end": quantiles(to_end),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)


def mix(value: torch.Tensor) -> torch.Tensor:
    """The hash of candidate.cu on int64 tensors that hold 32-bit values."""
    mask = 0xFFFFFFFF
    value = value & mask
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & mask
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & mask
    return value ^ (value >> 16)


def linked_oracle(slots: torch.Tensor, key: int, dense: bool) -> torch.Tensor:
    """Replays the chain in the judge from the candidate's outputs; returns the largest error of each call."""
    calls, size = slots.shape[0], MATRIX * MATRIX
    lanes = torch.arange(64, device=slots.device)
    errors = torch.zeros(calls, device=slots.device)
    everywhere = torch.arange(size, device=slots.device)
    for i in range(calls):
        x = slots[i, 0].double()
        if i:
            k = (key + i) & 0xFFFFFFFF
            places = mix(torch.full_like(lanes, k * 31) + lanes) % size
            bits = slots[i - 1, 2, places].view(torch.int32).long() & 0xFFFFFFFF
            h = k
            for value in mix(bits + lanes).tolist():
                h ^= value
            if dense:
                x = torch.where((mix(everywhere + h) & 1).bool(), -x, x)
            else:
                stride = size // 64
                flipped = lanes * stride + mix(lanes + h) % stride
                x = x.index_copy(0, flipped, -x[flipped])
        expected = x.view(MATRIX, MATRIX) @ slots[i, 1].double().view(MATRIX, MATRIX)
        errors[i] = (slots[i, 2].double().view(MATRIX, MATRIX) - expected).abs().max()
    return errors


def try_links(judge: Judge, candidate: Candidate, rows: list[dict[str, Any]], rounds: int) -> None:
    """Experiment 2: links between small products that leave most of the device idle."""
    calls, size = 2000, MATRIX * MATRIX
    slots = judge.arena.floats[: calls * 3 * size].view(calls, 3, size)
    private = torch.empty(calls, size, device="cuda")
    for name, op, link in (
        ("unlinked", b"p", None),
        ("unlinked, overlapped on 8 streams", b"o", None),
        ("dense link", b"d", "dense"),
        ("sparse link", b"e", "sparse"),
        ("sparse link, computed ahead and repaired", b"r", "sparse"),
        ("dense link alone", b"l", None),
        ("sparse link alone", b"m", None),
    ):
        key = secrets.randbits(32)
        candidate.set_up(op, calls, HONEST, key, size * 4)
        times = []
        worst = 0.0
        for turn in range(rounds):
            inputs = torch.empty(calls, 2, size, device="cuda").uniform_(-1, 1)

            def fill(inputs: torch.Tensor = inputs) -> None:
                slots[:, :2] = inputs
                slots[:, 2] = POISON

            times.append(judge.round(fill, lambda: private.copy_(slots[:, 2]))[1])
            if turn == 0 and op not in (b"l", b"m"):
                audited = torch.cat([inputs, private.unsqueeze(1)], dim=1)[:200]
                if link is None:
                    x, y, found = audited.double().view(-1, 3, MATRIX, MATRIX).unbind(1)
                    errors = (x @ y - found).abs()
                else:
                    errors = linked_oracle(audited, key, link == "dense")
                worst = float(errors.max())
        rows.append(
            {"experiment": "links", "candidate": name, "calls": calls, "rounds": rounds,
             "largest_error": worst, "seconds_a_call": quantiles([t / calls for t in times])}
        )  # fmt: skip
        print(rows[-1], flush=True)


def try_constant(judge: Judge, candidate: Candidate, rows: list[dict[str, Any]], rounds: int) -> None:
    """Experiment 3: the whole sequence around no call at all."""
    probe = judge.arena.floats[:1024]
    private = torch.empty_like(probe)
    for name, evict, count in (("no eviction", False, rounds), ("256 MiB evicted", True, rounds // 5)):
        candidate.set_up(b"a", 0, HONEST, 0, 4096)
        done, end, gaps = [], [], []
        for _ in range(count):
            to_done, to_end, gap = judge.round(probe.zero_, lambda: private.copy_(probe), evict)
            done.append(to_done)
            end.append(to_end)
            gaps.append(float(gap))
        rows.append(
            {"experiment": "constant", "candidate": f"native, {name}", "rounds": count,
             "gap_cycles": quantiles(gaps), "seconds_to_done": quantiles(done),
             "seconds_to_gather_end": quantiles(end)}
        )  # fmt: skip
        print(rows[-1], flush=True)


def main() -> None:
    """Build the candidate, run the three experiments, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--empty-rounds", type=int, default=10_000)
    options = parser.parse_args()
    torch.zeros(1, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "candidate"
        major, minor = torch.cuda.get_device_capability()
        subprocess.run(
            [
                "nvcc",
                "-O3",
                "-std=c++17",
                f"-arch=sm_{major}{minor}",
                "-o",
                program,
                HERE / "candidate.cu",
                "-lcuda",
            ],
            check=True,
        )
        arena = Arena(40 * GIB)
        candidate = Candidate(program, arena)
        judge = Judge(candidate, arena)
        rows: list[dict[str, Any]] = []
        try_constant(judge, candidate, rows, options.empty_rounds)
        try_gather(judge, candidate, rows, options.rounds)
        try_links(judge, candidate, rows, options.rounds)
        candidate.set_up(b"q", 0, HONEST, 0, 0)
        candidate.process.wait(timeout=30)
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, version = (
        subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    )
    commit = os.environ.get("SOLMARK_COMMIT", "")
    head = {
        "schema": 1, "device": device, "driver": version, "torch": torch.__version__, "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"python {Path(__file__).relative_to(ROOT)} --output {options.output}",
    }  # fmt: skip
    options.output.write_text(json.dumps({**head, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
