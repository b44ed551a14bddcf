"""Run every hostile program on every sandbox here, print a table, and write what was found.

The checks are those of `tests/hostile`: this script runs them all, and says nothing of its own. It exits with
0 only if every program got a right verdict (run, at build, and in a rank of several), did no harm, left
nothing, left an honest submission graded as before, and did its harm in the control, on every backend.

    python -m benchmarks.hostile

With --records a run may be made in pieces: what the file holds is not run again, unless the program or the
judge has changed since. All rows of a result are of one judge: leave its code alone meanwhile.
"""

import argparse
import ast
import hashlib
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
from grader.judge import environment
from grader.sandbox import registry
from grader.sandbox.base import SandboxError

ROOT = Path(__file__).parents[1]
OUTPUT = results_schema.RESULTS / "hostile.json"
COMMAND = "python -m benchmarks.hostile"
NO_SANDBOX = "unpacker"
"""Stands for a backend where an upload is refused before any sandbox starts."""
PROGRAMS = ROOT / "tests" / "hostile" / "programs"
_TESTS = "tests/hostile/test_hostile.py::"
CHECKS = {
    "contained": f"{_TESTS}test_a_hostile_program_is_contained",
    "rank": f"{_TESTS}test_it_is_contained_in_a_rank_of_several",
    "control": f"{_TESTS}test_the_same_program_does_its_harm_where_its_limit_is_lifted",
}
"""What is recorded of a program on a backend, and the test that does so."""
_UPLOADS = "tests/hostile/test_uploads.py::"
CHECKS_OF_UPLOADS = {
    "contained": f"{_UPLOADS}test_a_hostile_upload_is_refused",
    "control": f"{_UPLOADS}test_the_same_upload_harms_who_unpacks_it_as_asked",
}
PATIENCE_SECONDS = 900
"""For one check on a machine that does much else."""


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
        lacking = missing(records, backends)
        run(dict(list(lacking.items())[: arguments.most]), records, backends)
        rows = program_rows(current(read(records)))
        left = missing(records, backends)
    show(rows)
    sums = summary_rows(rows)
    for row in sums:
        print(f"{row['backend']}: {row['programs']} programs, {row['escapes']} escapes, "
              f"{row['wrong_verdicts']} wrong verdicts, {row['not_held']} not held")  # fmt: skip
    print(f"not run yet: {len(left)}")
    held = not left and all(row["held"] for row in rows)
    if held:
        pieces = f" --records {arguments.records.name}" if arguments.records else ""
        header = results_schema.header(
            f"{COMMAND}{pieces}", profile.load("cpu").name, judge_version=environment.judge_version()
        )
        header["environment"] |= {"backends": ", ".join(backends), "sandbox": sandbox_digest()}
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


def missing(records: Path, backends: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Program -> the tests of it of which something is not recorded."""
    done = {(record["program"], record["backend"], record["check"]) for record in current(read(records))}
    lacking = {}
    for folder, pattern, checks, places in (
        (PROGRAMS, "*.*", CHECKS, backends),
        (PROGRAMS / "uploads", "*.py", CHECKS_OF_UPLOADS, ("",)),
    ):
        for name in sorted(path.name for path in folder.glob(pattern)):
            tests = tuple(
                test
                for check, test in checks.items()
                if any((name, place, check) not in done for place in places)
            )
            if tests:
                lacking[name] = tests
    return lacking


def run(lacking: Mapping[str, tuple[str, ...]], records: Path, backends: Sequence[str]) -> None:
    """Have pytest make these tests; what it finds, and nothing else, is appended to the records."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={PATIENCE_SECONDS}"]
    for tests in dict.fromkeys(lacking.values()):
        environment = {
            **os.environ,
            "HOSTILE": ",".join(name for name, mine in lacking.items() if mine == tests),
            "HOSTILE_BACKENDS": ",".join(backends),
            "HOSTILE_RECORDS": str(records.resolve()),
        }
        subprocess.run([*argv, *tests], cwd=ROOT, env=environment, check=False)


def read(records: Path) -> list[dict[str, Any]]:
    """What is recorded, the last of each check."""
    lines = records.read_text("utf-8").splitlines() if records.exists() else []
    return [json.loads(line) for line in lines]


def current(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of the programs and the judge of now."""
    judge, now = environment.judge_version(), digests()
    return [
        record
        for record in records
        if record.get("judge") == judge and record.get("digest") == now.get(record["program"])
    ]


def digests() -> dict[str, str]:
    """Of every program and upload, by its name."""
    found = [*PROGRAMS.glob("*.*"), *(PROGRAMS / "uploads").glob("*.py")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in found}


def sandbox_digest() -> str:
    """Of the code that holds a program (filter, mounts, limits, the end), whatever is said about it there."""
    total = hashlib.sha256()
    for path in sorted((ROOT / "grader" / "sandbox").glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
        total.update(f"{path.name}\0{ast.dump(tree)}\0".encode())
    return total.hexdigest()[:12]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def program_rows(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a program and backend; what was not recorded did not hold."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        backend = record["backend"] or NO_SANDBOX
        row = found.setdefault((backend, record["program"]), {"id": f"{backend}/{record['program']}"})
        row |= {name: record[name] for name in ("program", "family", "digest", "judge")} | {
            "backend": backend
        }
        if record["check"] == "control":
            row |= {
                "lifted": record["lift"],
                "shows": record["expected"],
                "harmful_when_lifted": record["harmful"],
            }
        elif record["check"] == "rank":
            row |= {f"{name}_in_rank": record[name] for name in _FOUND}
        else:
            row |= {name: record[name] for name in (*_FOUND, "expected_at_build", "verdict_at_build")}
            row["commit"] = record["commit"]
    rows = [found[key] for key in sorted(found)]
    for row in rows:
        row["held"] = _held(row)
    return rows


_FOUND = ("expected", "verdict", "escaped", "left", "canary")


def _held(row: Mapping[str, Any]) -> bool:
    ways = [""] if row["backend"] == NO_SANDBOX else ["", "_in_rank"]
    return all(
        f"verdict{way}" in row
        and not row[f"escaped{way}"]
        and row[f"left{way}"] == 0
        and row[f"canary{way}"] == "accepted"
        for way in ways
    ) and bool(right_verdict(row) and row.get("harmful_when_lifted"))


def right_verdict(row: Mapping[str, Any]) -> bool:
    """Whether each verdict that there is, of the run, the build and the rank, is one of those promised."""
    ways = [way for way in ("", "_at_build", "_in_rank") if row.get(f"expected{way}")]
    return all(row[f"verdict{way}"] in row[f"expected{way}"].split(",") for way in ways)


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
                "ranks": sum("verdict_in_rank" in row for row in whole),
                "escapes": sum(bool(row["escaped"] or row.get("escaped_in_rank")) for row in whole),
                "wrong_verdicts": sum(not right_verdict(row) for row in whole),
                "not_held": sum(not row["held"] for row in own),
            }
        )
    return sums


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """The table."""
    table = Table(
        "backend",
        "family",
        "program",
        "verdict",
        "at build",
        "in a rank",
        "left",
        "canary",
        "lifted: shows",
        "holds",
    )
    for row in rows:
        table.add_row(
            row["backend"],
            row["family"],
            row["program"],
            row.get("verdict", "?"),
            row.get("verdict_at_build", "?"),
            row.get("verdict_in_rank", "?" if row["backend"] != NO_SANDBOX else ""),
            str(row.get("left", "?")),
            row.get("canary", "?"),
            f"{row.get('lifted', '?')}: {row.get('shows', '?')}",
            "yes" if row["held"] else "NO",
        )
    Console(width=180).print(table)


if __name__ == "__main__":
    raise SystemExit(main())
