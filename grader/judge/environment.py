"""What ran a session: versions, sandbox, machine, so that one can say which results may be compared."""

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from grader.contract import Environment, Yardstick
from grader.hardware.profile import Hardware, cpu_model
from grader.judge.gpu.device import Device, Reading
from grader.judge.messages import Ready
from grader.sandbox.base import Backend, Freezer

_GRADER = Path(__file__).parents[1]


def describe(
    backend: Backend,
    hardware: Hardware | None,
    *,
    target: str,
    node: str,
    freezer: Freezer | None,
    versions: Ready | None,
    device: Device | None = None,
    reading: Reading | None = None,
    yardstick: Yardstick | None = None,
    duty_cycle: float | None = None,
) -> Environment:
    """The environment of a session; `versions` as a sandbox reported them before any student code came in."""
    return Environment(
        judge_version=judge_version(),
        hardware=target,
        hardware_name=(hardware.name if hardware else cpu_model())[:128],
        hardware_digest=hardware.digest if hardware else None,
        node=node[:128],
        sandbox=backend.name,
        sandbox_image=backend.image[:80],
        freezer=freezer.kind if freezer else "none",
        unenforced_limits=tuple(sorted(limit.value for limit in backend.unenforced())),
        python=(versions.python if versions else platform.python_version())[:32],
        torch=(versions.torch if versions and versions.torch else _loaded("torch"))[:64],
        triton=(versions.triton if versions else "")[:32],
        driver=device.driver if device else "",
        session_spread=hardware.session_spread if hardware else None,
        clocks=dict(reading.clocks) if reading else {},
        temperature_celsius=reading.temperature if reading else None,
        yardstick=yardstick,
        duty_cycle=duty_cycle,
        throttle_reasons=reading.throttled if reading else (),
        kernel=f"{os.uname().sysname} {os.uname().release}"[:128],
    )


@functools.cache
def judge_version() -> str:
    """Version of the package and a digest of the code that judges: equal only if the code is."""
    try:
        version = metadata.version("solmark")
    except metadata.PackageNotFoundError:
        version = "0"
    return f"{version}+{digest(sorted(_sources()))[:12]}"


@functools.cache
def device_judge() -> str:
    """A digest of the code that decides on a device and nowhere else: what was measured there belongs to it.

    How a device is found, locked and left (`gpu/device.py`) does not count.
    """
    candidate = ("graph_code.py", "graph_round.cpp", "runner.cu", "link.py", "device.py")
    own = ("probes.py", "freivalds.py", "overhead.py", "own.py")
    gpu = [path for path in (_GRADER / "judge" / "gpu").iterdir() if path.suffix in (".py", ".cu")]
    sources = [
        *(path for path in gpu if path.name != "device.py"),
        *(_GRADER / "candidate" / name for name in candidate),
        *(_GRADER / "judge" / name for name in own),
    ]
    return digest(sorted(sources))[:12]


@functools.cache
def clock_judge() -> str:
    """A digest of the code whose own cost the constant c is: a c measured with other code does not count."""
    names = ("channel", "clock", "client", "pool", "cache", "exchange", "overhead", "own", "ring", "rounds")
    candidate = sorted((_GRADER / "candidate").glob("*.*"))
    return digest(sorted([*(_GRADER / "judge" / f"{name}.py" for name in names), *candidate]))[:12]


def digest(paths: Sequence[Path]) -> str:
    """Sha-256 over names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.relative_to(_GRADER)}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _sources() -> list[Path]:
    folders = ("candidate", "judge", "sandbox")
    names = ("fills.py", "scoring.py", "session.py", "sol.py", "task.py")
    inside = [
        path
        for folder in folders
        for path in (_GRADER / folder).rglob("*")
        if path.suffix in (".py", ".h", ".cpp", ".cu")
    ]
    return [*inside, *(_GRADER / name for name in names)]


def _loaded(module: str) -> str:
    """Version of a module that is loaded already, or nothing."""
    return str(getattr(sys.modules.get(module), "__version__", ""))
