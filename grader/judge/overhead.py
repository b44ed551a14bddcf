"""The constant c: what the judge's own sequence costs in a round, whatever the candidate does.

It is the minimum over many rounds of the fastest candidate that we can write (one native call that returns at
once), with the whole sequence included. Nothing that a submission can slow down is ever subtracted.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.hardware.profile import Hardware
from grader.judge.cache import Evictor, last_level_bytes
from grader.judge.clock import Clock, quiet
from grader.judge.gpu.clock import DeviceClock
from grader.judge.gpu.device import Device
from grader.judge.gpu.device import llc_bytes as device_llc_bytes
from grader.judge.gpu.ring import DeviceRing
from grader.judge.layout import SlotLayout, plan
from grader.judge.own import OwnCandidate
from grader.judge.probes import Latency
from grader.judge.ring import Ring
from grader.judge.rounds import ROUND_SECONDS
from grader.sandbox.base import Backend, SandboxError
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor

ROUNDS = 300
KIND = "function"
"""Key of c in a profile's `overhead_seconds`; the median's is `MEDIAN`."""
MEDIAN = "function.median"
_ROUND_SECONDS = 5.0
_SEALED_ROUNDS = 40
_SETTLING_ROUNDS = 3
_SHARE = 400
"""On a device a round lasts so many times the uncertainty of the constant: 0.25 %."""

_NATIVE = b"""#include "solmark.h"
extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    *static_cast<int64_t *>(tensors[0].data) = 1;
    return 0;
}
"""
_CUDA = b"""#include "solmark.h"
static __global__ void write(int64_t *out) { *out = 1; }
extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *stream) {
    write<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<int64_t *>(tensors[0].data));
    return 0;
}
"""
_PYTHON = b"def solve(out):\n    out.fill_(1)\n"


@dataclass(frozen=True)
class Overhead:
    """Seconds of an empty round: `minimum` is c; `median` less `minimum` bounds the bias of a round."""

    minimum: float = 0.0
    median: float = 0.0

    @classmethod
    def of(cls, hardware: Hardware | None) -> "Overhead":
        """As calibrated on this machine; zero, which favours nobody, where it was not."""
        calibrated = hardware.overhead_seconds if hardware else {}
        minimum = calibrated.get(KIND, 0.0)
        return cls(minimum, calibrated.get(MEDIAN, minimum))

    @property
    def round_seconds(self) -> float:
        """Least length of a round on a device."""
        return max(ROUND_SECONDS, _SHARE * (self.median - self.minimum))

    def as_profile(self) -> dict[str, float]:
        """As a profile stores it."""
        return {KIND: self.minimum, MEDIAN: self.median}


def measure(backend: Backend, rounds: int = ROUNDS, device: Device | None = None) -> Overhead:
    """Run `rounds` empty rounds, some milliseconds each. Raises SandboxError where there is no freezer.

    The native candidate needs g++ (nvcc for a device); without it the Python one stands in, whose c is a
    little larger.
    """
    seconds = empty_rounds(candidate(backend, device), rounds)
    return Overhead(min(seconds), statistics.median(seconds))


class Ringed(Protocol):
    """What `sealed` needs of a timed case's plan."""

    @property
    def task(self) -> FunctionTask:
        """Whose fill it is."""
        ...

    @property
    def case(self) -> Case:
        """The case."""
        ...

    @property
    def slots(self) -> tuple[SlotLayout, ...]:
        """Its ring."""
        ...

    @property
    def arena_bytes(self) -> int:
        """Size of the ring."""
        ...

    @property
    def chained(self) -> bool:
        """Whether it is linked."""
        ...


def sealed(backend: Backend, device: Device, plans: Sequence[Ringed]) -> list[Latency]:
    """What a sealed round of each case takes, filled as the case is, with a candidate that does nothing.

    It is the constant of that case's probes; c stays the constant of rounds. Raises SandboxError.
    """
    own = OwnCandidate.build(backend, _CUDA, _PYTHON, device, kept=True)
    found = []
    with own.start(max(plan.arena_bytes for plan in plans)) as client:
        assert client.device_arena is not None
        for case in plans:
            client.bind(case.slots, {})
            ring = DeviceRing(
                client.device_arena, case.slots, case.task, case.case, device_llc_bytes(), linked=case.chained
            )
            clock = DeviceClock(client, client.process.freezer, ring)
            with quiet():
                for _ in range(_SETTLING_ROUNDS):
                    clock.single(_ROUND_SECONDS)
                found.append(Latency.of([clock.single(_ROUND_SECONDS) for _ in range(_SEALED_ROUNDS)]))
            ring.close()
    return found


def candidate(backend: Backend, device: Device | None = None, *, native: bool = True) -> OwnCandidate:
    """The fastest candidate that we can write. Raises SandboxError."""
    if not native:
        return OwnCandidate(backend, {"solution.py": _PYTHON}, None, device)
    return OwnCandidate.build(backend, _NATIVE if device is None else _CUDA, _PYTHON, device)


def empty_rounds(own: OwnCandidate, rounds: int) -> list[float]:
    """Seconds of each of so many rounds in one fresh sandbox. Raises SandboxError."""
    import torch

    tensors = [Tensor("out", "int64", (1,), "out")]
    on = "cpu" if own.device is None else "cuda"

    def oracle(params: Params, inputs: Slot) -> Slot:  # noqa: ARG001 (called by name)
        return {"out": torch.ones(1, dtype=torch.int64, device=on)}

    task = FunctionTask(
        tensors=lambda _params: tensors,
        fill=lambda _params, _slots, _seeds: None,
        oracle=oracle,
        cost=lambda _params: Cost(dram_bytes=8),
    )
    case = Case(id="empty", part="empty", visibility="public", role="timed", params={})
    slots = plan(tensors, 1)
    with own.start(slots[-1].end) as client:
        if client.process.freezer is None:
            raise SandboxError("this machine has no freezer: there is no constant to calibrate")
        client.bind(slots, {})
        ring: Ring | DeviceRing
        clock: Clock | DeviceClock
        if client.device_arena is None:
            ring = Ring(client.arena, slots, task, case)
            clock = Clock(client, client.process.freezer, ring, Evictor(last_level_bytes()))
        else:
            ring = DeviceRing(client.device_arena, slots, task, case, device_llc_bytes())
            clock = DeviceClock(client, client.process.freezer, ring)
        with quiet():
            seconds = [clock.round(1, _ROUND_SECONDS).seconds for _ in range(rounds)]
        ring.close()
    return seconds
