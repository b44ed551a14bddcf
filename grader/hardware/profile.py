"""Hardware profiles: what a device can do per second, by datasheet, by physics and by measurement.

A class (`cpu`, `h200`, ...) is a committed TOML file beside this module. `solmark calibrate` adds what it
measured on this machine as `<class>.json` under `data_folder()`; `load` merges the two. `<class>x<n>` (for
instance `h200x2`) is n devices of that class in one host: the rates stay those of one device.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

RateKind: TypeAlias = Literal["score", "ceiling", "measured"]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]

CPU_CEILING_MARGIN = 1.25
"""A CPU has no datasheet to hold a time against: its ceiling is the best calibration times this."""

DEFAULT_HARDWARE = "cpu"
"""The class that `solmark grade` scores against unless told otherwise."""

_COMMITTED = Path(__file__).parent
_CLASS = re.compile(r"^(?P<base>[a-z][a-z0-9_-]*?)(?:x(?P<devices>[1-9][0-9]?))?$")


class HardwareError(ValueError):
    """There is no such hardware class, or its profile or calibration cannot be used; the text says why."""


class CalibrationError(HardwareError):
    """This machine's calibration cannot be used: the machine's trouble, not that of who names a class."""


class Model(BaseModel):
    """Immutable, no unknown keys, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Rates(Model):
    """Rates of one resource in units (operations or bytes) per second.

    `score` prices the bound that scores are held against. `ceiling` is the most that physics allows at the
    highest clock: a time below its bound is faster than light. `measured` is the best seen on this machine,
    on a CPU of any kernel of ours; staff look at a time that passes its bound before it is ranked.
    """

    score: Positive
    ceiling: Positive
    measured: Positive | None = None

    def get(self, kind: RateKind) -> float | None:
        """The rate of that kind, None where it was not measured."""
        return {"score": self.score, "ceiling": self.ceiling, "measured": self.measured}[kind]


class CoreRates(Model):
    """What n cores of a CPU reached: the best of all calibrations kept, in units per second."""

    dram: Positive
    """Bytes per second of the fastest copy, each byte counted twice: it is read and written."""
    units: dict[str, Positive]
    fastest: dict[str, Positive] = Field(default_factory=dict)
    """By resource, the best of any kernel where that is more: it raises the ceiling, not the score's rate."""


class Calibration(Model):
    """What `solmark calibrate` measured on one machine; the content of `<class>.json`."""

    version: Literal[1] = 1
    hardware: str
    name: str
    """Model of the CPU or GPU: a calibration of another model is refused."""
    calibrated: str
    """ISO 8601, UTC."""
    kernel: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    llc_bytes: int | None = Field(default=None, gt=0, le=1 << 32)
    """Of the last cache, which the judge streams through twice over: no machine's is nearly as large."""
    candidate_cores: int | None = Field(default=None, gt=0)
    """Cores that the judge leaves to a candidate here: the row of `by_cores` that prices its work."""
    by_cores: dict[int, CoreRates] = Field(default_factory=dict)
    units: dict[str, Positive] = Field(default_factory=dict)
    dram: Positive | None = None
    link: Positive | None = None
    step_seconds: Positive | None = None
    overhead_seconds: dict[str, Positive] = Field(default_factory=dict)
    """The judge's constant c by kind of candidate (see `grader.judge.overhead`)."""
    session_spread: float | None = Field(default=None, ge=0, lt=1)
    """As the last full run found it (see `grader.judge.spread`)."""
    yardstick_seconds: Positive | None = None
    """What a reading of the judge's own memory took on the quiet machine (see `grader.judge.yardstick`)."""
    runs: tuple[dict[str, Any], ...] = ()
    """Best and median of each run, newest last: for people, not for scores."""


class Profile(Model):
    """The committed part of a hardware class."""

    hardware: str
    name: str
    kind: Literal["cpu", "gpu"]
    interval_target: Positive
    """Relative half-width at which the stopping rule is content."""
    session_spread: float = Field(default=0.0, ge=0, lt=1)
    """Coefficient of variation of a time between sessions, by which its interval is widened."""
    units: dict[str, Rates] = Field(default_factory=dict)
    dram: Rates | None = None
    link: Rates | None = None
    step_seconds: Positive | None = None
    llc_bytes: int | None = Field(default=None, gt=0)
    memory_bytes: int | None = Field(default=None, gt=0)
    processors: int | None = Field(default=None, gt=0)
    """Streaming multiprocessors."""
    max_clock_hertz: Positive | None = None
    switch_reduction: bool = False


class Hardware(Profile):
    """A profile with this machine's calibration merged in: what bounds and scores are computed from."""

    devices: int = 1
    cores: int | None = None
    """CPU only: the number of cores that the rates hold for."""
    overhead_seconds: dict[str, Positive] = Field(default_factory=dict)
    yardstick_seconds: Positive | None = None
    """CPU only: a reading of the judge's own memory on the quiet machine."""
    calibrated: str | None = None
    """When it was calibrated; None means never, and a CPU then has no rates at all."""

    @property
    def digest(self) -> str:
        """Sha-256 of what scores and verdicts are computed from: fractions compare only if it is equal.

        What differs between nodes of one class (measured rates, the judge's constant) is left out.
        """
        values = self.model_dump(mode="json", exclude={"calibrated", "overhead_seconds", "yardstick_seconds"})
        for rates in (*values["units"].values(), values["dram"], values["link"]):
            if rates is not None:
                del rates["measured"]
        content = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


def classes() -> tuple[str, ...]:
    """Names of all committed hardware classes, sorted."""
    return tuple(sorted(path.stem for path in _COMMITTED.glob("*.toml")))


def split(hardware_class: str) -> tuple[str, int]:
    """The base class and the number of devices: `h200x2` -> (`h200`, 2). Raises HardwareError."""
    match = _CLASS.match(hardware_class)
    if match is None:
        raise HardwareError(f"{hardware_class!r} is not a hardware class; known: {', '.join(classes())}")
    return match["base"], int(match["devices"] or 1)


def data_folder() -> Path:
    """Where calibrations are kept: `$SOLMARK_HOME/hardware`, else in the user's data folder.

    Raises CalibrationError for a user who has none, as in some containers.
    """
    if home := os.environ.get("SOLMARK_HOME"):
        return Path(home) / "hardware"
    data = os.environ.get("XDG_DATA_HOME")
    try:
        return (Path(data) if data else Path.home() / ".local" / "share") / "solmark" / "hardware"
    except RuntimeError as error:
        raise CalibrationError("this user has no home folder: set SOLMARK_HOME to one") from error


def committed(hardware_class: str) -> Profile:
    """The committed profile of a class, without any calibration. Raises HardwareError."""
    base, _ = split(hardware_class)
    path = _COMMITTED / f"{base}.toml"
    if not path.is_file():
        raise HardwareError(f"no hardware class {base!r}; known: {', '.join(classes())}")
    try:
        # Through JSON: pydantic's strict mode then takes an array for a tuple and a string for an enum.
        profile = Profile.model_validate_json(json.dumps(tomllib.loads(path.read_text("utf-8"))))
    except (ValueError, ValidationError) as error:
        raise HardwareError(f"{path.name}: {error}") from error
    if profile.hardware != base:
        raise HardwareError(f"{path.name}: hardware is {profile.hardware!r}; it must be {base!r}")
    return profile


def datasheet(hardware_class: str) -> Hardware:
    """The profile of a class without any calibration: the same on every machine. Raises HardwareError."""
    _, devices = split(hardware_class)
    values = {**dict(committed(hardware_class)), "hardware": hardware_class, "devices": devices}
    return Hardware.model_validate(values)


def read_calibration(hardware_class: str) -> Calibration | None:
    """This machine's calibration of a class, None if there is none. Raises HardwareError if it is damaged."""
    base, _ = split(hardware_class)
    path = data_folder() / f"{base}.json"
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, error.strerror if isinstance(error, OSError) else "not text") from error
    try:
        calibration = Calibration.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        raise _damaged(path, f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".strip(": ")) from error
    if calibration.hardware != base:
        raise CalibrationError(f"{path} was made for {calibration.hardware!r}, not for {base!r}")
    return calibration


def _damaged(path: Path, why: str | None) -> CalibrationError:
    return CalibrationError(f"{path} is damaged ({why}): delete it and run `solmark calibrate`")


def load(hardware_class: str, *, cores: int | None = None) -> Hardware:
    """The profile of a class with this machine's calibration.

    `cores` chooses the row of a CPU's calibration; by default the number that the judge leaves to a
    candidate. A class never calibrated loads too: `calibrated` is then None. Raises HardwareError for an
    unknown class, a damaged calibration, or one of another machine.
    """
    profile = datasheet(hardware_class)
    calibration = read_calibration(hardware_class)
    if calibration is None:
        return profile
    values = dict(profile)
    if profile.kind == "cpu":
        _refuse_other_cpu(calibration)
        values |= _cpu_values(calibration, cores)
    else:
        values |= _gpu_values(profile, calibration)
    values |= {"calibrated": calibration.calibrated, "overhead_seconds": dict(calibration.overhead_seconds)}
    if calibration.session_spread is not None:
        values["session_spread"] = calibration.session_spread
    return Hardware.model_validate(values)


def _refuse_other_cpu(calibration: Calibration) -> None:
    here = cpu_model()
    if calibration.name != here:
        raise CalibrationError(
            f"the calibration is of another CPU ({calibration.name}), this is {here}: "
            "run `solmark calibrate --force`"
        )


def _cpu_values(calibration: Calibration, cores: int | None) -> Mapping[str, Any]:
    cores = cores or calibration.candidate_cores or 1
    row = calibration.by_cores.get(cores)
    if row is None:
        measured = ", ".join(map(str, sorted(calibration.by_cores))) or "none"
        raise CalibrationError(
            f"the calibration has no row for {cores} cores (it has {measured}): run `solmark calibrate`"
        )
    return {
        "name": calibration.name,
        "cores": cores,
        "llc_bytes": calibration.llc_bytes,
        "dram": _best(row.dram, row.fastest.get("dram", 0.0)),
        "units": {unit: _best(rate, row.fastest.get(unit, 0.0)) for unit, rate in row.units.items()},
        "step_seconds": calibration.step_seconds,
        "yardstick_seconds": calibration.yardstick_seconds,
    }


def _best(rate: float, fastest: float) -> Rates:
    best = max(rate, fastest)
    return Rates(score=rate, ceiling=best * CPU_CEILING_MARGIN, measured=best)


def _gpu_values(profile: Profile, calibration: Calibration) -> Mapping[str, Any]:
    def with_measured(rates: Rates | None, measured: float | None) -> Rates | None:
        return rates and rates.model_copy(update={"measured": measured or rates.measured})

    return {
        "units": {
            unit: with_measured(rates, calibration.units.get(unit)) for unit, rates in profile.units.items()
        },
        "dram": with_measured(profile.dram, calibration.dram),
        "link": with_measured(profile.link, calibration.link),
        "step_seconds": profile.step_seconds or calibration.step_seconds,
    }


def cpu_model() -> str:
    """This CPU's model name as the kernel gives it, or the machine's architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return os.uname().machine
