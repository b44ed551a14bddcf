"""What the tools that look into calls say, read as the text of a stranger: ncu, compute-sanitizer, torch.

They run the harness in the sandbox, beside the submission's code, which could print their words as well. What
they say is shown to its author and decides nothing.
"""

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from grader.contract import InspectedKernel
from grader.plaintext import clean, line

PLACES = "/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/bin:/usr/bin"
NAME_CHARS = 256
MOST_KERNELS = 64
_DURATION = "gpu__time_duration.sum"
_DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
_TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
_REGISTERS = "launch__registers_per_thread"
_METRICS = (_DURATION, _DRAM, _TENSOR, _REGISTERS)
_SECONDS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "s": 1.0, "second": 1.0}
_MOST = float(1 << 53)
"""No metric of ours comes near it, in units as small as nanoseconds."""
_SUMMARY = re.compile(r"ERROR SUMMARY: (\d{1,9}) error")
_REPORT = re.compile(r"^=+ (?:Invalid|Misaligned|Out-of-range|Program hit) ", re.MULTILINE)
"""How the memory checker begins a finding."""
NCU_HOME = Path("/opt/nvidia")
"""Where the toolkit's `ncu` looks for the program that it stands for."""
_KERNELS: TypeAdapter[list[InspectedKernel]] = TypeAdapter(list[InspectedKernel])
_FEATURES: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


@dataclass(frozen=True)
class Tool:
    """A program that runs another one and looks into it: where it lies, with which options it is started."""

    path: Path
    options: tuple[str, ...]
    home: Path | None = None
    """A folder elsewhere that it needs too."""

    @property
    def words(self) -> tuple[str, ...]:
        """What comes before the command that it runs."""
        return (str(self.path), *self.options)

    @property
    def mounts(self) -> Mapping[str, Path]:
        """What a sandbox must be shown to have it, beside the system's own folders."""
        folders = [self.path.parent, *([self.home] if self.home is not None and self.home.is_dir() else [])]
        return {str(folder): folder for folder in folders if not folder.is_relative_to("/usr")}


def ncu(path: str | None = None, home: Path = NCU_HOME) -> Tool | None:
    """Nsight Compute, which counts what the device does; None where it is not installed."""
    options = ("--target-processes", "all", "--clock-control", "none", "--csv", "--print-units", "base")
    return _found(
        "ncu",
        (*options, "--launch-count", str(MOST_KERNELS), "--metrics", ",".join(_METRICS)),
        path,
        home,
    )


def memory_checker(path: str | None = None) -> Tool | None:
    """compute-sanitizer; None where it is not installed."""
    options = ("--tool", "memcheck", "--target-processes", "all", "--print-limit", "20")
    return _found("compute-sanitizer", options, path)


def kernels_of_ncu(output: str) -> list[InspectedKernel]:
    """The kernels in ncu's table, by name; empty where there is none, for instance without permission."""
    start = output.find('"ID"')
    if start < 0:
        return []
    found: dict[str, dict[str, Any]] = {}
    launches: dict[str, set[str]] = {}
    for row in _rows(output[start:]):
        name, metric, value = row.get("Kernel Name"), row.get("Metric Name"), row.get("Metric Value")
        if not name or metric not in _METRICS or value is None:
            continue
        try:
            number = float(value.replace(",", ""))
        except ValueError:
            continue
        if not 0 <= number < _MOST:  # NaN is neither.
            continue
        launches.setdefault(name, set()).add(str(row.get("ID")))
        kernel = found.setdefault(name, {"seconds": 0.0})
        if metric == _DURATION:
            kernel["seconds"] += number * _SECONDS.get(str(row.get("Metric Unit")), 0.0)
        elif metric == _REGISTERS:
            kernel["registers"] = int(number)
        else:
            kernel["dram_share" if metric == _DRAM else "tensor_share"] = number / 100
    return [
        InspectedKernel(name=line(name, NAME_CHARS), calls=len(launches[name]), **kernel)
        for name, kernel in list(found.items())[:MOST_KERNELS]
    ]


def _rows(table: str) -> Iterator[dict[str, str]]:
    """The rows up to the first that cannot be read: the submission may have printed any of them."""
    with suppress(csv.Error):
        yield from csv.DictReader(io.StringIO(table))


def profiled(value: Any) -> tuple[str, tuple[InspectedKernel, ...], dict[str, int]]:
    """Tool, kernels and features as the profiler in the sandbox told them. Raises ValueError."""
    try:
        kernels = _KERNELS.validate_python(value["kernels"])
        features = _FEATURES.validate_python(value["features"])
        tool = line(clean(str(value["tool"]), 64), 64)
    except (ValidationError, TypeError, KeyError) as error:
        raise ValueError("the profiler's answer has not the form that the harness sends") from error
    return (
        tool,
        tuple(kernels[:MOST_KERNELS]),
        {line(name, 64): features[name] for name in list(features)[:16]},
    )


def memory_errors(output: str) -> int | None:
    """What compute-sanitizer counted in the end; None if it never said.

    Where the program did not come to its end there is no sum: then the findings that were told are counted.
    """
    found = _SUMMARY.findall(output)
    return int(found[-1]) if found else len(_REPORT.findall(output)) or None


def _found(name: str, options: Sequence[str], path: str | None, home: Path | None = None) -> Tool | None:
    places = path if path is not None else f"{os.environ.get('PATH', os.defpath)}:{PLACES}"
    at = shutil.which(name, path=places)
    return Tool(Path(at).resolve(), tuple(options), home) if at else None
