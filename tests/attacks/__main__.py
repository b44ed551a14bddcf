"""`python -m tests.attacks`: every cheat against the judge and the naive grader; a table; 0 only if none gains.

Rows that are there already, of this judge and this program, are not measured again (`*.partial` beside the
output). `--draw` tries what a commit draws, as the tests do.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader.hardware.profile import cpu_model
from grader.judge import environment
from tests.attacks import corpus
from tests.attacks.grading import Judged, Naive

OUTPUT = results_schema.RESULTS / "attacks.cpu.json"


def main() -> int:
    """Try all, or those named; write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help=f"Results, for instance {OUTPUT.name}.")
    parser.add_argument("--draw", action="store_true", help="One of each family and some others.")
    parser.add_argument("names", nargs="*", help="Only programs whose name begins with one of these.")
    arguments = parser.parse_args()
    programs = corpus.chosen() if arguments.draw else corpus.attacks()
    if arguments.names:
        programs = [one for one in programs if one.path.name.startswith(tuple(arguments.names))]
    header = results_schema.header(
        "python -m tests.attacks", cpu_model(), judge_version=environment.judge_version()
    )
    kept = arguments.output.with_suffix(".partial") if arguments.output else None
    rows = attempt(programs, _begun(kept, header), kept)
    if arguments.output:
        results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
        results_schema.write(arguments.output, results)
    gained, held = sum(row["gained"] for row in rows), sum(row["control_gained"] for row in rows)
    print(f"{len(rows)} attacks, {held} of which gain from a naive grader; {gained} gained here")
    sound = all(row["control_gained"] and row["as_expected"] and not row["gained"] for row in rows)
    return 0 if sound and rows else 1


def attempt(
    programs: Sequence[corpus.Attack], known: dict[str, dict[str, Any]], kept: Path | None
) -> list[dict[str, Any]]:
    """A row for each program, printed as it comes; those known are taken as they are."""
    judged, rows = Judged(), []
    with tempfile.TemporaryDirectory() as folder:
        naive = Naive(Path(folder))
        for attack in programs:
            digest = hashlib.sha256(attack.path.read_bytes()).hexdigest()[:16]
            row = known.get(attack.path.name, {})
            if row.get("program") != digest:
                row = {"id": attack.path.name, "attack": attack.path.name, "family": attack.family}
                found = judged.attempt(attack)
                row |= {"gain": attack.gain, "program": digest, "verdict": found.verdict}
                row |= {"as_expected": found.verdict in attack.allowed, "gained": found.gained}
                row |= {"gradings": found.gradings, "control_gained": naive.gains(attack)}
                if found.best.seconds < float("inf"):
                    row |= {"seconds": found.best.seconds}
                    row |= {"honest_seconds": judged.honest(attack.path.suffix).seconds}
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(
                f"{row['id']:28} {row['family']:24} {row['verdict']:22} {'GAINED' if row['gained'] else '':7}"
                f"{'control gains' if row['control_gained'] else 'CONTROL GAINS NOTHING':22}"
                f"{'' if row['as_expected'] else 'NOT AS EXPECTED'}",
                flush=True,
            )
    return rows


def _begun(kept: Path | None, header: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows kept so far, by name; none if they are another judge's. Writes the header."""
    if kept is None:
        return {}
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    if not lines or json.loads(lines[0])["judge_version"] != header["judge_version"]:
        lines = [json.dumps(header)]
        kept.write_text(lines[0] + "\n", "utf-8")
    return {row["id"]: row for row in map(json.loads, lines[1:])}


if __name__ == "__main__":
    sys.exit(main())
