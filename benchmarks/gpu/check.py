"""`solmark check` on a device, kept: every finding about the assignments that are meant for it.

Solutions are graded there, those of `h200/` among them, each against the verdict that it names; the best one
over whole sessions too. Findings are written as they come; those of assignments that were not asked for stay
as they are, each with its judge and day. Needs a calibrated device:

    solmark calibrate --hardware h200
    python -m benchmarks.gpu.check

Where a device is lent for minutes, `--resume` grades only the solutions that the file has no row of: of this
judge, and of the assignment as it is now. All else is looked at again, and the best solution is graded again
while its repeats lack.

Where there is none, the same steps on a CPU, of one assignment, without repeats:

    python -m benchmarks.gpu.check --hardware cpu --assignment kernels/add-rmsnorm --repeats 0 --output x.json
"""

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader import assignment as assignments
from grader.check import run, solutions
from grader.check.finding import Finding, State
from grader.check.solutions import Solution
from grader.hardware import profile
from grader.judge import environment
from grader.judge.gpu.device import Device
from grader.judge.prepare import on_device
from grader.sandbox import registry

REPEATS = 3
GRADED = (*solutions.SUFFIXES, ".h", ".toml")
"""Endings of the files that a grading depends on."""


def main() -> int:
    """Check, print and write every finding; 0 if nothing fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--assignment", action="append", help="by default all that have this target")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="sessions of the best solution")
    parser.add_argument("--resume", action="store_true", help="keep what the file has of this judge")
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
    rows = known(output)
    names = {f"{root.parent.name}/{root.name}" for root in roots}
    for root in roots:
        name = f"{root.parent.name}/{root.name}"
        about = {"judge": header["judge_version"], "content": content(root)}
        there = [row for row in rows if row["assignment"] == name]
        kept = gradings_of(there, about) if arguments.resume else []
        rows = [*(row for row in rows if row["assignment"] != name), *kept]
        options = run.Options(
            registry.choose(None),
            hardware,
            arguments.hardware,
            arguments.repeats,
            only=lacking(kept, arguments.repeats),
        )
        for found in checked(root, options):
            rows = [row for row in rows if row not in kept or row["subject"] != found["subject"]]
            rows.append({**about, "measured": header["date"], **found})
            results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
            results_schema.write(output, results)
    rows = [row for row in rows if row["assignment"] in names]
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


def content(root: Path) -> str:
    """What is graded, in one digest: an assignment but for pages and milestones, and its solutions."""
    assignment = assignments.load(root)
    parsed = tomllib.loads((root / "assignment.toml").read_text("utf-8"))
    for target in parsed["targets"]:
        target.pop("milestones", None)
    found = hashlib.sha256(json.dumps(parsed, sort_keys=True).encode())
    for folder in (root, solutions.folder(assignment)):
        for path in sorted(folder.rglob("*")):
            if path.suffix in GRADED and path.is_file() and path != root / "assignment.toml":
                data = path.read_bytes()
                found.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode() + data)
    return found.hexdigest()[:16]


def gradings_of(rows: Sequence[dict[str, Any]], about: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of solutions that this judge graded as they are now, and the repeats of the best."""
    return [
        row
        for row in rows
        if Path(str(row["subject"]).partition(",")[0]).suffix in solutions.SUFFIXES
        and not str(row["subject"]).startswith("starter/")
        and all(row.get(name) == value for name, value in about.items())
    ]


def lacking(kept: Sequence[Mapping[str, Any]], repeats: int) -> Callable[[Solution], bool]:
    """Which solutions are to be graded: those without a row, and the best one while its repeats lack."""
    subjects = {str(row["subject"]) for row in kept}

    def lacks(solution: Solution) -> bool:
        repeated = repeats < 2 or any(subject.startswith(f"{solution.label}, ") for subject in subjects)
        return solution.label not in subjects or (solution.role == "best" and not repeated)

    return lacks


def checked(root: Path, options: run.Options) -> Iterator[dict[str, Any]]:
    """One row for each finding, as they come."""
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
