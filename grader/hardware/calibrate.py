"""Calibrates this machine: what its cores reach at best, and what a round of the judge itself costs.

The best of all runs on one CPU model is kept: a run beside other work must not lower the ceiling.
"""

import fcntl
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.contract import Text
from grader.hardware import ceilings
from grader.hardware.ceilings import Ceilings
from grader.hardware.profile import (
    Calibration,
    CoreRates,
    Hardware,
    HardwareError,
    cpu_model,
    data_folder,
    load,
    read_calibration,
)

if TYPE_CHECKING:
    from grader.judge.spread import Spread

FULL_SECONDS = 16.0
"""Time spent on bursts in all rows of a full run together."""
QUICK_SECONDS = 2.5
QUICK_ROUNDS = 100
QUICK_SESSIONS = 4
NOISY = 0.8
"""Below this share of the best burst, the typical one says that the machine was busy."""
_RUNS_KEPT = 10
_START_SECONDS = 60.0
_KERNELS = {"dram": ("copy", "torch_copy", "read"), "fp32": ("matmul", "fma")}
"""The kernels that show what a resource can do."""


@dataclass(frozen=True)
class Outcome:
    """A calibration as stored, the ceilings of this run by number of cores, and remarks for the reader."""

    calibration: Calibration
    path: Path
    found: Mapping[int, Ceilings]
    remarks: tuple[Text, ...]


def calibrate(
    *, quick: bool = False, force: bool = False, progress: Callable[[Text], None] = lambda _text: None
) -> Outcome:
    """Measure this CPU and store the result. A quick run measures the candidate's number of cores alone.

    `force` drops what is stored, as is needed when it is of another CPU or damaged. Raises HardwareError for
    that, for a second calibration at the same time, and where the measuring process fails.
    """
    with alone():
        previous = None if force else _previous()
        found, remarks = _rows(quick=quick, progress=progress)
        progress(Text(code="calibrate_constant", en="the judge's own constant", zh="评测器自身的常数"))
        overhead, missing = _overhead(quick=quick)
        spread = None
        if overhead:
            progress(Text(code="calibrate_sessions", en="how sessions differ", zh="各次评测之间的差异"))
            spread = _spread(quick=quick)
        calibration = _merged(previous, found, overhead, spread)
        path = store(calibration)
    return Outcome(calibration, path, found, (*remarks, *missing))


def _previous() -> Calibration | None:
    previous = read_calibration("cpu")
    if previous is not None and previous.name != cpu_model():
        raise HardwareError(
            f"{data_folder() / 'cpu.json'} is of another CPU ({previous.name}), this is {cpu_model()}: "
            "`solmark calibrate --force` replaces it"
        )
    return previous


def raise_ceilings() -> Hardware:
    """Measure the candidate's cores again, for a few seconds; the profile with what was better, also stored.

    Raises HardwareError where nothing is stored yet, while another calibration runs, and where that fails.
    """
    with alone():
        previous = _previous()
        if previous is None:
            raise HardwareError("this machine is not calibrated")
        found, _ = _rows(quick=True, progress=lambda _text: None)
        store(_merged(previous, found, {}, None))
    return load("cpu")


def core_counts(candidate: int, total: int) -> list[int]:
    """The rows of a full calibration: powers of two up to all cores, what a candidate gets, and all."""
    powers = {1 << exponent for exponent in range(total.bit_length()) if 1 << exponent <= total}
    return sorted(powers | {candidate, total})


def _rows(*, quick: bool, progress: Callable[[Text], None]) -> tuple[dict[int, Ceilings], tuple[Text, ...]]:
    from grader.judge import cores

    chosen = cores.choose()
    # The judge's core comes last: a row of fewer cores is measured where a candidate will run.
    available = sorted(chosen.candidate) + sorted(os.sched_getaffinity(0) - chosen.candidate)
    candidate = len(chosen.candidate)
    counts = [candidate] if quick else core_counts(candidate, len(available))
    seconds = QUICK_SECONDS if quick else FULL_SECONDS / len(counts)
    found: dict[int, Ceilings] = {}
    with tempfile.TemporaryDirectory(prefix="solmark-calibrate-") as folder:
        library, remarks = _library(Path(folder))
        for count in counts:
            progress(Text(code="calibrate_cores", en=f"{count} cores", zh=f"{count} 个核"))
            found[count] = measure_cores(available[:count], seconds, library)
    noisy = [name for name in ("copy", "matmul") for row in found.values()
             if name in row.best and row.median[name] < NOISY * row.best[name]]  # fmt: skip
    if noisy:
        remarks.append(
            Text(
                code="calibrate_noisy",
                en="The typical burst was far slower than the best one: something else was running. "
                "Calibrate again when the machine is idle; the best is kept.",
                zh="多数测量比最好的一次慢得多：有其他程序在运行。请在机器空闲时再校准一次；系统保留最好的结果。",
            )
        )
    return found, tuple(remarks)


def _library(folder: Path) -> tuple[Path | None, list[Text]]:
    try:
        library = ceilings.build(folder)
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", None) or str(error)
        raise HardwareError(f"g++ cannot compile the calibration's kernels: {detail}") from error
    if library is not None:
        return library, []
    en = "There is no g++: only torch was measured, so the ceilings may be lower than what C++ could reach."
    return None, [
        Text(
            code="calibrate_no_compiler",
            en=en,
            zh="没有 g++：只测量了 torch，上限可能低于 C++ 能达到的水平。",
        )
    ]


def measure_cores(cpus: list[int], seconds: float, library: Path | None) -> Ceilings:
    """One row, in a process of its own: thread pools keep the CPUs that they started on."""
    command = [sys.executable, "-m", "grader.hardware.ceilings", ",".join(map(str, cpus)), str(seconds)]
    if library is not None:
        command.append(str(library))
    root = Path(__file__).parent.parent.parent
    try:
        done = subprocess.run(
            command,
            cwd=root,
            capture_output=True,
            text=True,
            timeout=ceilings.PATIENCE * seconds + _START_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise HardwareError(f"measuring {len(cpus)} cores took over {error.timeout:g} s: too busy") from error
    except subprocess.CalledProcessError as error:
        raise HardwareError(f"measuring {len(cpus)} cores failed: {error.stderr.strip()[-2000:]}") from error
    return Ceilings(**json.loads(done.stdout.splitlines()[-1]))


def _overhead(*, quick: bool) -> tuple[dict[str, float], tuple[Text, ...]]:
    """The judge's constant by kind, empty (with a remark) where this machine cannot freeze a candidate."""
    from grader.judge import overhead
    from grader.judge.failure import CandidateFailure
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    try:
        backend = registry.choose(None)
        rounds = QUICK_ROUNDS if quick else overhead.ROUNDS
        return overhead.measure(backend, rounds).as_profile(), ()
    except (SandboxError, CandidateFailure, ValueError) as error:
        en = f"The judge's constant was not measured, times here are unranked: {error}. See `solmark doctor`."
        zh = f"未能测量评测器自身的常数，此机器上的计时不参与排名：{error}。请运行 `solmark doctor`。"
        return {}, (Text(code="calibrate_no_constant", en=en, zh=zh),)


def _spread(*, quick: bool) -> "Spread":
    """How far apart fresh sessions lie, where the constant could be measured too."""
    from grader.judge import spread
    from grader.judge.failure import AssignmentFault, CandidateFailure
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    try:
        sessions, pause = (QUICK_SESSIONS, 0.0) if quick else (spread.SESSIONS, spread.PAUSE_SECONDS)
        return spread.measure(registry.choose(None), sessions, pause)
    except (SandboxError, CandidateFailure, AssignmentFault) as error:
        raise HardwareError(f"the judge could not time a program of its own: {error}") from error


def _merged(
    previous: Calibration | None,
    found: Mapping[int, Ceilings],
    overhead: Mapping[str, float],
    spread: "Spread | None",
) -> Calibration:
    from grader.judge import cache, cores
    from grader.judge.environment import clock_judge

    now = datetime.now(UTC).isoformat(timespec="seconds")
    versions = {name: version(name) for name in ("solmark", "torch")}
    versions |= {"python": platform.python_version(), "judge": clock_judge()}
    kernel = platform.release()
    rows = dict(previous.by_cores) if previous else {}
    for count, measured in found.items():
        rows[count] = best_row(rows.get(count), measured)
    kept = dict(previous.overhead_seconds) if previous else {}
    if previous and (previous.kernel, previous.versions) != (kernel, versions):
        kept = {}  # Another judge or kernel: its constant is another one.
    run: dict[str, Any] = {
        "calibrated": now,
        "by_cores": {count: {"best": row.best, "median": row.median} for count, row in found.items()},
        "overhead_seconds": dict(overhead),
        "session_spread": spread.cv if spread else None,
        "yardstick_seconds": spread.quiet_seconds if spread else None,
    }
    return Calibration(
        hardware="cpu",
        name=cpu_model(),
        calibrated=now,
        kernel=kernel,
        versions=versions,
        llc_bytes=cache.last_level_bytes(),
        candidate_cores=len(cores.choose().candidate),
        by_cores=rows,
        overhead_seconds=_lower(kept, overhead),
        session_spread=spread.cv if spread else getattr(previous, "session_spread", None),
        yardstick_seconds=spread.quiet_seconds if spread else getattr(previous, "yardstick_seconds", None),
        runs=(*(previous.runs if previous else ()), run)[-_RUNS_KEPT:],
    )


def _lower(kept: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """The constant and its median of the run with the lesser constant: the two belong together."""
    from grader.judge import overhead

    if not found or not kept:
        return dict(found or kept)
    return dict(kept if kept[overhead.KIND] <= found[overhead.KIND] else found)


def best_row(kept: CoreRates | None, found: Ceilings) -> CoreRates:
    """A copy prices the memory and a matmul the arithmetic, by the clock.

    Other kernels, and rates by CPU time, can only raise the ceilings: what a busy machine hid must not make
    an honest time faster than light.
    """
    best = found.best
    copy = max(best.get("copy", 0.0), best["torch_copy"])
    dram = max(copy, kept.dram if kept else 0.0)
    fp32 = max(best["matmul"], kept.units.get("fp32", 0.0) if kept else 0.0)
    fastest = dict(kept.fastest) if kept else {}
    for resource, kernels in _KERNELS.items():
        rates = [rate for name in kernels for rate in (best.get(name), found.undisturbed.get(name)) if rate]
        fastest[resource] = max([fastest.get(resource, 0.0), *rates])
    return CoreRates(dram=dram, units={"fp32": fp32}, fastest=fastest)


def store(calibration: Calibration) -> Path:
    """Write a calibration whole or not at all; where it lies. Raises HardwareError where that fails."""
    path = data_folder() / f"{calibration.hardware}.json"
    try:
        descriptor, name = tempfile.mkstemp(prefix=".calibration-", dir=path.parent)
        scratch = Path(name)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(calibration.model_dump_json(indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            scratch.chmod(0o644)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise HardwareError(f"{path} cannot be written ({error})") from error
    return path


def version(package: str) -> str:
    """Version of an installed package, `source` where it runs from a source tree."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source"


@contextmanager
def alone() -> Iterator[None]:
    """Hold this machine's calibration lock: two at once would disturb each other."""
    folder = data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".calibrate.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HardwareError(f"{folder} cannot be written ({error}); set SOLMARK_HOME") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HardwareError("another calibration is running on this machine: wait for it") from error
        yield
    except OSError as error:  # No process to be had, a disk that is full.
        raise HardwareError(f"this machine could not be measured: {error}") from error
    finally:
        os.close(descriptor)
