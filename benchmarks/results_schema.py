"""The one form of `benchmarks/results/*.json`, and the check that what was derived in them is right.

A file has a header (which machine, which commit, which command) and flat rows. In a row

- a list under `samples` holds raw values; the field of the same name is their median, `<name>_cv` their
  coefficient of variation (of `seconds` also plain `cv`); `<name>_mean`, `_min` and `_max` are what they say;
- a table with some of min, q1, median, q3, max stands for values too many to keep;
- `ratios` names numerator and denominator of each field that is one of other fields;
- every field named cv or fraction, or ending in _cv, _ratio or _fraction, is derived in one of these ways.

Units are SI (seconds, bytes, operations, and those per second); a share is a ratio, never a percentage.
"""

import json
import math
import os
import platform
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, ValidationError

RESULTS = Path(__file__).parent / "results"
TOLERANCE = 1e-4
"""Derived numbers may be rounded by this much, relative to their value."""
QUANTILES = ("min", "q1", "median", "q3", "max")
FOREIGN_UNITS = (
    "_ms", "_us", "_ns", "_minutes", "_hours", "_kb", "_mb", "_gb", "_kib", "_mib", "_gib", "_gbps",
    "_gflops", "_tflops", "_percent", "_pct", "_mhz", "_ghz",
)  # fmt: skip


class ResultsError(ValueError):
    """A results file that does not parse, or whose numbers contradict each other; every fault is listed."""


class Row(BaseModel):
    """One row: fields of its own beside `id`, `samples` and `ratios`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str | None = Field(default=None, pattern=r"^[^\s:]+$")
    """Unique in the file; needed where a milestone names the row."""
    samples: dict[str, Annotated[list[float], Field(min_length=1)]] = Field(default_factory=dict)
    ratios: dict[str, tuple[str, str]] = Field(default_factory=dict)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The row's own fields."""
        return self.model_extra or {}


class ResultsFile(BaseModel):
    """A whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Literal[1] = Field(alias="schema")
    device: str = Field(min_length=1)
    driver: str
    """Empty on a CPU."""
    torch: str = Field(min_length=1)
    commit: str = Field(pattern=r"^[0-9a-f]{7,40}$")
    judge_version: str = ""
    """Empty where no judge was measured."""
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}(T[0-9:.+Z-]+)?$")
    command: str = Field(min_length=1)
    environment: dict[str, str] = Field(default_factory=dict)
    """Whatever else a reader needs to repeat it: kernel, compiler, clocks."""
    rows: list[Row] = Field(min_length=1)


def read(path: Path) -> ResultsFile:
    """Parse a file and recompute what it derives. Raises ResultsError with every fault."""
    try:
        document = json.loads(path.read_text("utf-8"), parse_constant=_refuse_constant)
        results = ResultsFile.model_validate(document)
    except (OSError, ValueError, ValidationError) as error:
        raise ResultsError(f"{path.name}: {error}") from error
    if found := faults(results):
        raise ResultsError("\n".join([f"{path.name}:", *found]))
    return results


def write(path: Path, results: ResultsFile) -> None:
    """Write a file whole or not at all, after the same checks as `read`. Raises ResultsError."""
    if found := faults(results):
        raise ResultsError("\n".join([f"{path.name}:", *found]))
    document = results.model_dump(mode="json", by_alias=True)
    for row in document["rows"]:
        for name in ("id", "samples", "ratios"):
            if not row[name]:
                del row[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    Path(scratch).chmod(0o644)
    Path(scratch).replace(path)


def header(command: str, device: str, driver: str = "", judge_version: str = "") -> dict[str, Any]:
    """Everything of a file but its rows, for this machine, now. `SOLMARK_COMMIT` stands in for git."""
    import torch

    return {
        "schema": 1,
        "device": device,
        "driver": driver,
        "torch": torch.__version__,
        "commit": os.environ.get("SOLMARK_COMMIT") or _commit(),
        "judge_version": judge_version,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "environment": {"kernel": platform.release(), "python": platform.python_version()},
    }


def faults(results: ResultsFile) -> list[str]:
    """What contradicts itself in the rows, one sentence each."""
    found: list[str] = []
    seen: set[str] = set()
    for number, row in enumerate(results.rows, start=1):
        where = f"row {row.id or number}"
        if row.id is not None and row.id in seen:
            found.append(f"{where}: the id occurs twice")
        seen.add(row.id or "")
        found += [f"{where}: {fault}" for fault in _row_faults(row)]
    return found


def cv(values: Sequence[float]) -> float:
    """Coefficient of variation: standard deviation of the sample over its mean."""
    return statistics.stdev(values) / statistics.fmean(values)


def _row_faults(row: Row) -> Iterator[str]:
    derived: set[str] = set()
    for name, values in row.samples.items():
        if not all(math.isfinite(value) for value in values):
            yield f"samples.{name} has values that are not finite"
            continue
        for field, value in _statistics(name, values).items():
            if field in row.fields:
                derived.add(field)
                yield from _compare(field, row.fields[field], value)
    for field, (numerator, denominator) in row.ratios.items():
        derived.add(field)
        above, below = row.fields.get(numerator), row.fields.get(denominator)
        if not _is_number(above) or not _is_number(below) or below == 0:
            yield f"{field} is {numerator} / {denominator}, but these are {above!r} and {below!r}"
        else:
            yield from _compare(field, row.fields.get(field), above / below)
    for field, value in row.fields.items():
        yield from _field_faults(field, value, derived)


def _statistics(name: str, values: Sequence[float]) -> dict[str, float]:
    computed = {
        name: statistics.median(values),
        f"{name}_mean": statistics.fmean(values),
        f"{name}_min": min(values),
        f"{name}_max": max(values),
    }
    if len(values) > 1 and statistics.fmean(values) != 0:
        computed[f"{name}_cv"] = cv(values)
        if name == "seconds":
            computed["cv"] = computed["seconds_cv"]
    return computed


def _field_faults(field: str, value: object, derived: set[str]) -> Iterator[str]:
    if field.endswith(FOREIGN_UNITS):
        yield f"{field}: units are SI, shares are ratios"
    must = field in ("cv", "fraction") or field.endswith(("_cv", "_ratio", "_fraction"))
    if must and value is not None and field not in derived:
        yield f"{field} cannot be recomputed: give its samples or its ratio"
    if isinstance(value, dict):
        names = list(value)
        numbers = [value[name] for name in QUANTILES if name in value]
        if not names or not set(names) <= set(QUANTILES) or not all(map(_is_number, numbers)):
            yield f"{field}: a table holds some of {', '.join(QUANTILES)}"
        elif numbers != sorted(numbers):
            yield f"{field}: the quantiles do not ascend"
    elif isinstance(value, list):
        yield f"{field}: raw values belong under samples"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{field} is not finite"


def _compare(field: str, stated: object, computed: float) -> Iterator[str]:
    if not _is_number(stated) or not math.isclose(stated, computed, rel_tol=TOLERANCE, abs_tol=1e-15):
        yield f"{field} is {stated!r}, but {computed!r} follows from the rest"


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ResultsError("there is no git here: set SOLMARK_COMMIT to the commit that is measured")
    return done.stdout.strip()
