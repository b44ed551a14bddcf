"""The committed result of chaos runs: one row for each seed and database."""

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import results_schema as schema
from tests.chaos.run import Result


def add(path: Path, result: Result, command: str) -> None:
    """Add the row of one run to a results file, in place of one of the same seed and database."""
    header = schema.header(command, _device())
    row = _row(result, header["commit"])
    kept: list[dict[str, Any]] = []
    if path.exists():
        kept = [found.model_dump() for found in schema.read(path).rows if found.id != row["id"]]
    schema.write(path, schema.ResultsFile.model_validate({**header, "rows": [*kept, row]}))


def databases_by_seed(path: Path) -> dict[int, set[str]]:
    """What a results file holds already: the databases on which each seed ran. Empty if there is none."""
    found: dict[int, set[str]] = {}
    if path.exists():
        for row in schema.read(path).rows:
            found.setdefault(row.fields["seed"], set()).add(row.fields["database"])
    return found


def _row(result: Result, commit: str) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "id": f"seed-{result.seed}-{result.database}",
        "seed": result.seed,
        "database": result.database,
        "submitted": len(outcome.submitted),
        "sandboxed": len(outcome.sandboxed & outcome.submitted),
        "final": len(outcome.final & outcome.submitted),
        "lost": len(outcome.lost),
        "double": len(outcome.double),
        "stuck": len(outcome.stuck),
        "other_faults": len(outcome.faults),
        "taken_without_an_answer": len(outcome.found),
        "killed_thrice": len(outcome.grader_errors),
        "acts": sum(result.acts.values()),
        **{f"acts_{name.replace(' ', '_')}": count for name, count in sorted(result.acts.items())},
        "seconds": round(result.seconds, 1),
        "stood_still_seconds": round(result.stood_still_seconds, 1),
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _device() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
