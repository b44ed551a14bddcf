"""Calibrates a hardware class of devices here: measured ceilings, and the judge's constant."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.contract import Text
from grader.hardware.calibrate import alone, store, version
from grader.hardware.device_ceilings import DeviceCeilings, measure
from grader.hardware.profile import Calibration, HardwareError, read_calibration, split

ROUNDS = 1000
QUICK_ROUNDS = 200
_RUNS_KEPT = 10


@dataclass(frozen=True)
class DeviceOutcome:
    """A calibration as stored, and the ceilings of this run."""

    calibration: Calibration
    path: Path
    found: DeviceCeilings


def calibrate_device(
    hardware: str,
    *,
    quick: bool = False,
    force: bool = False,
    progress: Callable[[Text], None] = lambda _text: None,
) -> DeviceOutcome:
    """Measure the device of this class and store the result; the best of all runs is kept.

    `force` drops what is stored. Raises HardwareError where there is no such device, and where the judge's
    constant cannot be measured.
    """
    from grader.judge import overhead
    from grader.judge.failure import CandidateFailure
    from grader.judge.gpu.device import Device
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    base, _ = split(hardware)
    with alone():
        previous = None if force else read_calibration(base)
        try:
            device = Device.open(base)
            try:
                if previous is not None and previous.name != device.name:
                    raise HardwareError(
                        f"the calibration is of a {previous.name}, this is a {device.name}: use --force"
                    )
                progress(Text(code="calibrate_ceilings", en="copies and products", zh="复制与矩阵乘"))
                found = measure()
                progress(
                    Text(code="calibrate_constant", en="the judge's own constant", zh="评测器自身的常数")
                )
                rounds = QUICK_ROUNDS if quick else ROUNDS
                constant = overhead.measure(registry.choose(None), rounds, device).as_profile()
                name, driver = device.name, device.driver
            finally:
                device.close()
        except (SandboxError, CandidateFailure) as error:
            raise HardwareError(str(error)) from error
        calibration = _merged(base, name, driver, previous, found, constant)
        path = store(calibration)
    return DeviceOutcome(calibration, path, found)


def _merged(
    hardware: str,
    name: str,
    driver: str,
    previous: Calibration | None,
    found: DeviceCeilings,
    constant: Mapping[str, float],
) -> Calibration:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    versions = {"solmark": version("solmark"), "torch": version("torch"), "driver": driver}
    versions["python"] = platform.python_version()
    old = previous.units if previous else {}
    kept = dict(previous.overhead_seconds) if previous and previous.versions == versions else {}
    steps = [found.step_seconds, *([previous.step_seconds] if previous and previous.step_seconds else [])]
    run = {"calibrated": now, **asdict(found), "overhead_seconds": dict(constant)}
    run["missing"] = list(found.missing)
    return Calibration(
        hardware=hardware,
        name=name,
        calibrated=now,
        kernel=platform.release(),
        versions=versions,
        units={unit: max(rate, old.get(unit, 0.0)) for unit, rate in found.units.items()},
        dram=max(found.copy, previous.dram if previous and previous.dram else 0.0),
        step_seconds=min(steps),
        overhead_seconds={kind: min(c, kept.get(kind, c)) for kind, c in constant.items()},
        runs=(*(previous.runs if previous else ()), run)[-_RUNS_KEPT:],
    )
