"""The checks themselves. Each is a real attempt: a program in the sandbox, a limit broken, a freeze timed."""

import functools
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from grader.hardware import profile
from grader.judge import cores, environment
from grader.judge.arena import Arena
from grader.sandbox import conformance, engine, seccomp
from grader.sandbox.base import Backend, Command, Freezer, Limit, Limits, Process, SandboxError
from grader.sandbox.programs import bwrap
from grader.sandbox.trial import Outcome, run

_FREEZES = 100
_SLOW_FREEZE_SECONDS = 0.002
_BETWEEN_SECONDS = 0.001
"""Frozen again at once, a program would not have run at all."""
_STILL_SECONDS = 0.05
_GROWTH_SECONDS = 0.0002
"""CPU time by which a frozen candidate may seem to grow: beyond, rounds would be judged unfairly."""
_ARENA_BYTES = 8 << 20
_LIMITS = Limits(wall_seconds=60)
_NAMESPACES = ("pid", "net", "ipc", "uts", "mnt")
_OPENMP = """
#include <cstdio>
#include <omp.h>
int main() {
    int sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
    std::printf("%d", sum);
}
"""

Attempt = Callable[[], tuple[bool, str]]
"""Whether all is well, and what was found. SandboxError, HardwareError and OSError are failures too."""


@dataclass(frozen=True)
class Step:
    """One check: its attempt, whether ranked grading can do without, and the check that must go well before.

    Where that one did not go well, this one is not tried: its advice would mislead.
    """

    id: str
    attempt: Attempt
    optional: bool = False
    after: str = ""


def steps(backend: Backend) -> Iterator[Step]:
    """All checks of a machine and backend, in the order in which a person would look."""
    yield Step("python", _python)
    yield Step("torch", lambda: (True, importlib.metadata.version("torch")))
    yield Step("triton", lambda: (True, importlib.metadata.version("triton")), optional=True)
    yield Step("cores", _cores, optional=True)
    yield Step("huge_pages", _huge_pages, optional=True)
    yield Step("calibration", _calibration, optional=True)
    yield Step("calibration_judge", _calibration_judge, optional=True)
    if backend.name == "bubblewrap":
        yield Step("libseccomp", _libseccomp)
        yield Step("bubblewrap", _bubblewrap)
    if backend.name == "docker":
        yield Step("docker", _docker)
    yield Step("sandbox", functools.partial(_starts, backend))
    yield Step("namespaces", functools.partial(_namespaces, backend), after="sandbox")
    yield Step("identity", functools.partial(_identity, backend), after="sandbox")
    yield Step("freezer", functools.partial(_freezer, backend), after="sandbox")
    yield Step("stillness", functools.partial(_stillness, backend), after="freezer")
    for limit in sorted(conformance.limits()):
        attempt = functools.partial(_limit, backend, limit)
        yield Step(f"limit_{limit.value}", attempt, optional=limit in _SPARABLE, after="sandbox")
    for limit in sorted(backend.unenforced() - conformance.limits()):
        yield Step(f"limit_{limit.value}", lambda: (False, "-"), optional=True)
    yield Step("torch_inside", functools.partial(_torch_inside, backend), after="sandbox")
    yield Step("cpp", functools.partial(_cpp, backend), optional=True, after="sandbox")


_SPARABLE = frozenset({Limit.DISK, Limit.SHM, Limit.INODES, Limit.OPEN_FILES})
"""A program that takes all of these harms the machine, not the result."""


def _python() -> tuple[bool, str]:
    return sys.version_info >= (3, 11), platform.python_version()


def _cores() -> tuple[bool, str]:
    chosen = cores.choose()
    return not chosen.shared, f"{len(os.sched_getaffinity(0))} CPU, {len(chosen.candidate)} candidate"


def _huge_pages() -> tuple[bool, str]:
    with closing(Arena(_ARENA_BYTES)):
        _, _, arena = Path("/proc/self/smaps").read_text().partition("memfd:solmark-arena")
    found = re.search(r"ShmemPmdMapped: +(\d+) kB", arena)
    mapped = int(found[1]) << 10 if found else 0
    return mapped == _ARENA_BYTES, f"{mapped >> 20} of {_ARENA_BYTES >> 20} MiB"


def _calibration() -> tuple[bool, str]:
    hardware = profile.load("cpu")
    return hardware.calibrated is not None, f"{hardware.name} {hardware.calibrated or ''}".strip()


def _calibration_judge() -> tuple[bool, str]:
    """After an upgrade the judge's constant is another one, and the old one is still subtracted."""
    found = profile.read_calibration("cpu")
    if found is None:  # The step before has said so.
        return True, "-"
    judge = found.versions.get("judge", "-")
    return judge == environment.clock_judge(), judge


def _libseccomp() -> tuple[bool, str]:
    instructions = len(seccomp.program("none")) // 8
    return True, f"{instructions} BPF"


def _bubblewrap() -> tuple[bool, str]:
    done = subprocess.run([bwrap(), "--version"], capture_output=True, text=True, check=False, timeout=10)
    return done.returncode == 0, (done.stdout or done.stderr).strip()


def _docker() -> tuple[bool, str]:
    info = engine.connect().info()
    freezers = f"cgroup v{info.get('CgroupVersion', '?')}, {info.get('CgroupDriver', '?')}"
    return True, f"{info.get('ServerVersion', '?')}, {freezers}"


def _starts(backend: Backend) -> tuple[bool, str]:
    missing = backend.available()
    if missing is not None:
        return False, missing
    begin = time.monotonic()
    _run(backend, "pass")
    return True, f"{(time.monotonic() - begin) * 1e3:.0f} ms"


def _namespaces(backend: Backend) -> tuple[bool, str]:
    code = f"import os; print(*(os.readlink('/proc/self/ns/' + name) for name in {_NAMESPACES}))"
    inside = _run(backend, code).text.split()
    outside = [os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES]  # noqa: PTH115
    own = [name for name, ours, its in zip(_NAMESPACES, outside, inside, strict=True) if ours != its]
    return own == list(_NAMESPACES), " ".join(own) or "-"


def _identity(backend: Backend) -> tuple[bool, str]:
    with closing(_sleeper(backend)) as process:
        status = Path(f"/proc/{process.host_pid}/status").read_text()
    uids = set(re.findall(r"\d+", status.partition("\nUid:")[2].partition("\n")[0]))
    empty = all(re.search(rf"\n{name}:\t0+\n", status) for name in ("CapPrm", "CapEff", "CapBnd", "CapInh"))
    own = backend.identity == "own" and not uids & {"0", str(os.getuid())}
    return own and empty, f"uid {' '.join(sorted(uids))}" + ("" if empty else ", capabilities")


def _freezer(backend: Backend) -> tuple[bool, str]:
    with closing(_sleeper(backend)) as process:
        freezer = _held(process)
        seconds = []
        for _ in range(_FREEZES):
            begin = time.perf_counter()
            freezer.freeze()
            freezer.thaw()
            seconds.append(time.perf_counter() - begin)
            time.sleep(_BETWEEN_SECONDS)
    median = statistics.median(seconds)
    return median < _SLOW_FREEZE_SECONDS, f"{freezer.kind}, {median * 1e6:.0f} µs"


def _stillness(backend: Backend) -> tuple[bool, str]:
    """The clock's own test: a busy, frozen program must not seem to use CPU time."""
    with closing(backend.start(Command(_python_argv(backend, "while True: pass")), _LIMITS)) as process:
        freezer = _held(process)
        time.sleep(_STILL_SECONDS)
        freezer.freeze()
        time.sleep(0.001)
        before = freezer.cpu_seconds()
        time.sleep(_STILL_SECONDS)
        growth = freezer.cpu_seconds() - before
    return before > 0 and growth < _GROWTH_SECONDS, f"{growth * 1e6:.0f} µs / {_STILL_SECONDS * 1e3:.0f} ms"


def _limit(backend: Backend, limit: Limit) -> tuple[bool, str]:
    """A backend that does not vouch for a limit may still stop one program: every Report names it then."""
    finding = conformance.check(backend, limit)
    return finding.held and limit not in backend.unenforced(), finding.seen


def _torch_inside(backend: Backend) -> tuple[bool, str]:
    command = Command(
        [backend.python, "-c", "import torch; print(torch.__version__, torch.ones(2).sum().item())"]
    )
    outcome = run(backend, command, _LIMITS)
    last = (outcome.stderr.decode(errors="replace").strip() or "?").splitlines()[-1]
    return outcome.exit.code == 0, outcome.text.strip() or last


def _cpp(backend: Backend) -> tuple[bool, str]:
    script = (
        f"cd \"$TMPDIR\" && cat > a.cpp <<'EOF'\n{_OPENMP}\nEOF\n"
        "g++ -O2 -fopenmp a.cpp -o a && ./a && g++ -dumpfullversion"
    )
    outcome = run(backend, Command(["/bin/sh", "-c", script]), _LIMITS)
    built = outcome.text.startswith("499500")
    return built, outcome.text.removeprefix("499500").strip() or outcome.stderr.decode(errors="replace")[
        -200:
    ]


def _held(process: Process) -> Freezer:
    if process.freezer is None:
        raise SandboxError("no cgroup freezer")
    return process.freezer


def _sleeper(backend: Backend) -> Process:
    return backend.start(Command(["/bin/sleep", "60"]), _LIMITS)


def _run(backend: Backend, code: str) -> Outcome:
    outcome = run(backend, Command(_python_argv(backend, code)), _LIMITS)
    if outcome.exit.code != 0:
        raise SandboxError(outcome.stderr.decode(errors="replace")[-300:] or f"{outcome.exit}")
    return outcome


def _python_argv(backend: Backend, code: str) -> list[str]:
    return [backend.python, "-I", "-S", "-c", code]
