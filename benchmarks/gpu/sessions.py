"""Timed sessions of one program on a device without the rest of a grading: a fresh sandbox each time."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.contract import Language, Verdict
from grader.hardware.profile import Hardware
from grader.judge import cores, overhead, timed
from grader.judge.build import compile_native
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.gpu.device import Device, llc_bytes
from grader.judge.gpu.ring import rehearse, working_bytes
from grader.judge.overhead import Overhead
from grader.judge.supervisor import Supervisor
from grader.sandbox.base import Backend, Limits

LIMITS = Limits(
    wall_seconds=180.0, cpu_seconds=2000.0, memory_bytes=32 << 30, processes=512, output_bytes=1 << 20
)
BUILD_SECONDS = 90.0


@dataclass(frozen=True)
class Program:
    """A submission of one file, compiled where that is needed."""

    name: str
    data: bytes
    language: Language
    artifact: bytes | None = None


@dataclass(frozen=True)
class Session:
    """What one sandbox gave: a timing a case (fewer if one failed), or the verdict before any."""

    timings: tuple[timed.Timing, ...]
    verdict: Verdict
    message: str
    seconds: float


def program(
    name: str,
    data: bytes,
    backend: Backend,
    flags: Sequence[str],
    headers: Mapping[str, bytes] | None = None,
) -> Program:
    """Detect the language and compile, with the device's flags.

    Raises RuntimeError with the compiler's words.
    """
    if not name.endswith(".cu"):
        triton = b"import triton" in data
        return Program(name, data, Language.TRITON if triton else Language.PYTHON)
    built = compile_native(
        backend,
        LIMITS,
        {name: data, **(headers or {})},
        name,
        language=Language.CUDA,
        flags=flags,
        seconds=BUILD_SECONDS,
        cpus=None,
        supervisor=Supervisor(),
    )
    if built.verdict is not Verdict.ACCEPTED:
        raise RuntimeError(f"{name} does not compile: {built.result.log}")
    return Program(name, data, Language.CUDA, built.artifact)


def with_fill_rates(plans: Iterable[timed.Plan]) -> list[timed.Plan]:
    """The plans with the rates of their fills, measured while no candidate lives."""
    return [
        replace(plan, fill_rate=rehearse(plan.task, plan.case, plan.slots, llc_bytes())) for plan in plans
    ]


def with_rates(plans: Sequence[timed.Plan], backend: Backend, device: Device) -> list[timed.Plan]:
    """As `with_fill_rates`, with the empty rounds that sealed probes need as well."""
    rated = with_fill_rates(plans)
    empties = overhead.sealed(backend, device, rated)
    return [replace(plan, empty=empty) for plan, empty in zip(rated, empties, strict=True)]


def run(
    subject: Program,
    plans: Sequence[timed.Plan],
    backend: Backend,
    device: Device,
    hardware: Hardware,
    *,
    warm_up: float = 60.0,
    once: bool = False,
) -> Session:
    """One sandbox, all plans in turn up to the first that is not accepted.

    With `once` each has a single round over its whole ring, which is audited and not timed.
    """
    begin = time.monotonic()
    device.reserve(max(working_bytes(plan.task, plan.slots[0].plan.stride) for plan in plans))
    timings: list[timed.Timing] = []
    verdict, message = Verdict.ACCEPTED, ""
    with Client.start(
        backend,
        LIMITS,
        arena_bytes=1,
        language=subject.language,
        cpus=cores.choose().candidate,
        device=device,
        device_bytes=max(plan.arena_bytes for plan in plans),
    ) as client:
        try:
            client.load({subject.name: subject.data}, "solve", subject.name, subject.artifact)
        except CandidateFailure as failure:
            return Session((), failure.verdict, failure.text.en, time.monotonic() - begin)
        for plan in plans:
            limits = timed.TimeLimits(warm_up=warm_up)
            timings.append(timed.run(client, plan, overhead=Overhead.of(hardware), limits=limits, once=once))
            result = timings[-1].result
            verdict = result.verdict or Verdict.GRADER_ERROR
            if verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
                message = f"{result.message.en if result.message else ''} {timings[-1].detail}"
                break
    return Session(tuple(timings), verdict, message.strip(), time.monotonic() - begin)
