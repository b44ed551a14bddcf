"""What was measured on a device and is committed: it says what the documents say."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.h200.json").read_text("utf-8"))["rows"]
    return found


def test_every_step_did_what_it_says() -> None:
    steps = rows("steps")
    assert len(steps) >= 20
    assert all(row["held"] for row in steps)


def test_gradings_got_the_verdicts_that_the_solutions_name() -> None:
    sessions = [row for row in rows("gradings") if "verdict" in row]
    assert len(sessions) >= 7
    assert all(row["as_expected"] for row in sessions)
    assert all(row["ranked"] for row in sessions if row["verdict"] == "accepted")
