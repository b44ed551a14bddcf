"""`solmark check` on a device, kept: every finding about the assignments that are meant for it.

Solutions are graded there, those of `h200/` among them, each against the verdict that it names; the best one
over whole sessions too. Findings are written as they come; those of assignments that were not asked for stay
as they are, each with its judge and day. Needs a calibrated device:

    solmark calibrate --hardware h200
    python -m benchmarks.gpu.check

Where there is none, the same steps on a CPU, of one assignment, without repeats:

    python -m benchmarks.gpu.check --hardware cpu --assignment kernels/add-rmsnorm --repeats 0 --output x.json
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader.check import run
from grader.check.finding import Finding, State
from grader.hardware import profile
from grader.hardware.profile import Hardware
from grader.judge import environment
from grader.judge.gpu.device import Device
from grader.judge.prepare import on_device
from grader.sandbox import registry

REPEATS = 3


def main() -> int:
    """Check, print and write every finding; 0 if nothing fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--assignment", action="append", help="by default all that have this target")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="sessions of the best solution")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    hardware = profile.load(arguments.hardware)
    if arguments.repeats and hardware.calibrated is None:
        parser.error(f"this machine is not calibrated: solmark calibrate --hardware {arguments.hardware}")
    roots = [assignments.find(name) for name in arguments.assignment or meant(arguments.hardware)]
    header = results_schema.header(
        f"python -m benchmarks.gpu.check --hardware {arguments.hardware}",
        hardware.name,
        driver(arguments.hardware),
        environment.judge_version(),
    )
    output = arguments.output or results_schema.RESULTS / f"check.{arguments.hardware}.json"
    names = {f"{root.parent.name}/{root.name}" for root in roots}
    others = [row for row in known(output) if row["assignment"] not in names]
    about = {"judge": header["judge_version"], "measured": header["date"]}
    rows: list[dict[str, Any]] = []
    for root in roots:
        for found in checked(root, hardware, arguments.hardware, arguments.repeats):
            rows.append(about | found)
            results = results_schema.ResultsFile.model_validate({**header, "rows": [*rows, *others]})
            results_schema.write(output, results)
    failed = sum(row["state"] == State.FAILS for row in rows)
    print(f"{failed} of {len(rows)} findings about {len(roots)} assignments fail")
    return 1 if failed else 0


def known(output: Path) -> list[dict[str, Any]]:
    """The rows that are there already."""
    if not output.exists():
        return []
    rows: list[dict[str, Any]] = results_schema.read(output).model_dump(mode="json", by_alias=True)["rows"]
    return rows


def meant(hardware: str) -> list[str]:
    """Names of the assignments with a target of this class."""
    found = assignments.available().items()
    return [name for name, root in sorted(found) if assignments.load(root).spec.target(hardware) is not None]


def checked(root: Path, hardware: Hardware, target: str, repeats: int) -> Iterator[dict[str, Any]]:
    """One row for each finding, as they come."""
    options = run.Options(registry.choose(None), hardware, target, repeats)
    for finding in run.check(root, options):
        print(f"{root.name}: {finding.state.value}: {finding.subject}: {finding.text}", flush=True)
        yield row(f"{root.parent.name}/{root.name}", finding)


def row(name: str, finding: Finding) -> dict[str, Any]:
    """A finding in a results file."""
    fields = {
        "assignment": name,
        "subject": finding.subject,
        "state": finding.state.value,
        "text": finding.text,
    }
    return fields if finding.seconds is None else fields | {"seconds": finding.seconds}


def driver(hardware: str) -> str:
    """Version of the device's driver; empty on a CPU."""
    if not on_device(hardware):
        return ""
    device = Device.open(hardware)
    try:
        return device.driver
    finally:
        device.close()


if __name__ == "__main__":
    sys.exit(main())
