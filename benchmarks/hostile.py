"""Run every hostile program on every sandbox here, print a table, and write what was found.

The checks are those of `tests/hostile`: this script runs them all, and says nothing of its own. It exits with
0 only if every program got a right verdict, did no harm, left nothing, left an honest submission graded as
before, and did its harm in the control, on every backend.

    python -m benchmarks.hostile

With --records a run may be made in pieces: what the file holds is not run again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import results_schema
from grader.hardware import profile
from grader.sandbox import registry
from grader.sandbox.base import SandboxError

ROOT = Path(__file__).parents[1]
OUTPUT = results_schema.RESULTS / "hostile.json"
COMMAND = "python -m benchmarks.hostile"
NO_SANDBOX = "unpacker"
"""Stands for a backend where an upload is refused before any sandbox starts."""
PROGRAMS = ROOT / "tests" / "hostile" / "programs"
CHECKS = ("contained", "control")


def main() -> int:
    """Run, print, write; 0 if all hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--records", type=Path, help="Keep here what was found, and go on from it.")
    parser.add_argument("--most", type=int, help="Programs to run in this piece.")
    arguments = parser.parse_args()
    backends = running()
    with tempfile.TemporaryDirectory() as folder:
        records = arguments.records or Path(folder) / "records"
        names = missing(records, backends)
        run(names[: arguments.most], records, backends)
        rows = program_rows(read(records))
        left = missing(records, backends)
    show(rows)
    sums = summary_rows(rows)
    for row in sums:
        print(f"{row['backend']}: {row['programs']} programs, {row['escapes']} escapes, "
              f"{row['wrong_verdicts']} wrong verdicts, {row['not_held']} not held")  # fmt: skip
    print(f"not run yet: {len(left)}")
    held = not left and all(row["held"] for row in rows)
    if held:
        header = results_schema.header(COMMAND, profile.load("cpu").name)
        header["environment"] |= {"backends": ", ".join(backends)}
        document = {**header, "rows": [*sums, *rows]}
        results_schema.write(arguments.output, results_schema.ResultsFile.model_validate(document))
        print(f"written: {arguments.output}")
    return 0 if held else 1


def running() -> list[str]:
    """Backends that isolate and run here; says why another does not."""
    found = []
    for name, backend in registry.BACKENDS.items():
        if backend().isolates:
            try:
                registry.choose(name)
            except SandboxError as error:
                print(error)
            else:
                found.append(name)
    return found


def missing(records: Path, backends: Sequence[str]) -> list[str]:
    """Programs of which a check on a backend is not recorded."""
    done = {(record["program"], record["backend"], record["check"]) for record in read(records)}
    names = [path.name for path in sorted(PROGRAMS.glob("*.*"))]
    lacking = [
        name
        for name in names
        if any((name, backend, check) not in done for backend in backends for check in CHECKS)
    ]
    uploads = [path.name for path in sorted((PROGRAMS / "uploads").glob("*.py"))]
    lacking += [name for name in uploads if any((name, "", check) not in done for check in CHECKS)]
    return lacking


def run(names: Sequence[str], records: Path, backends: Sequence[str]) -> None:
    """Have pytest check these programs; what it finds, and nothing else, is appended to the records."""
    if not names:
        return
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = ["tests/hostile/test_hostile.py", "tests/hostile/test_uploads.py"]
    environment = {
        **os.environ,
        "HOSTILE": ",".join(names),
        "HOSTILE_BACKENDS": ",".join(backends),
        "HOSTILE_RECORDS": str(records.resolve()),
    }
    subprocess.run([*argv, *tests], cwd=ROOT, env=environment, check=False)


def read(records: Path) -> list[dict[str, Any]]:
    """What is recorded, the last of each check."""
    lines = records.read_text("utf-8").splitlines() if records.exists() else []
    return [json.loads(line) for line in lines]


def program_rows(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a program and backend; what was not recorded did not hold."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        backend = record["backend"] or NO_SANDBOX
        row = found.setdefault((backend, record["program"]), {"id": f"{backend}/{record['program']}"})
        row |= {"backend": backend, "program": record["program"], "family": record["family"]}
        if record["check"] == "control":
            row |= {
                "lifted": record["lift"],
                "shows": record["expected"],
                "harmful_when_lifted": record["harmful"],
            }
        else:
            names = (
                "expected",
                "verdict",
                "expected_at_build",
                "verdict_at_build",
                "escaped",
                "left",
                "canary",
            )
            row |= {name: record[name] for name in names}
            row["commit"] = record["commit"]
    rows = [found[key] for key in sorted(found)]
    for row in rows:
        row["held"] = _held(row)
    return rows


def _held(row: Mapping[str, Any]) -> bool:
    return bool(
        "verdict" in row
        and right_verdict(row)
        and not row["escaped"]
        and row["left"] == 0
        and row["canary"] == "accepted"
        and row.get("harmful_when_lifted")
    )


def right_verdict(row: Mapping[str, Any]) -> bool:
    """Whether the verdicts of the run and of the build, if there was one, are among those promised."""
    at_build = row["expected_at_build"]
    return row["verdict"] in row["expected"].split(",") and (
        not at_build or row["verdict_at_build"] in at_build.split(",")
    )


def summary_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a backend: how many programs of how many families, and what did not hold."""
    sums = []
    for backend in dict.fromkeys(row["backend"] for row in rows):
        own = [row for row in rows if row["backend"] == backend]
        whole = [row for row in own if "verdict" in row]
        sums.append(
            {
                "id": backend,
                "backend": backend,
                "programs": len(own),
                "families": len({row["family"] for row in own}),
                "builds": sum(bool(row["verdict_at_build"]) for row in whole),
                "escapes": sum(bool(row["escaped"]) for row in whole),
                "wrong_verdicts": sum(not right_verdict(row) for row in whole),
                "not_held": sum(not row["held"] for row in own),
            }
        )
    return sums


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """The table."""
    table = Table(
        "backend", "family", "program", "verdict", "at build", "left", "canary", "lifted: shows", "holds"
    )
    for row in rows:
        table.add_row(
            row["backend"],
            row["family"],
            row["program"],
            row.get("verdict", "?"),
            row.get("verdict_at_build", "?"),
            str(row.get("left", "?")),
            row.get("canary", "?"),
            f"{row.get('lifted', '?')}: {row.get('shows', '?')}",
            "yes" if row["held"] else "NO",
        )
    Console(width=150).print(table)


if __name__ == "__main__":
    raise SystemExit(main())
