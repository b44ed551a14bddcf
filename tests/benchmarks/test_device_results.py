"""What was measured on a device and is committed: it says what the documents say."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PROGRAMS = Path(__file__).parents[1] / "attacks" / "device"


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.h200.json").read_text("utf-8"))["rows"]
    return found


def test_every_step_did_what_it_says() -> None:
    steps = rows("steps")
    assert len(steps) >= 20
    assert all(row["held"] for row in steps)


def test_no_program_gained() -> None:
    found = rows("attacks_device")
    cheats = [row for row in found if row["family"] not in ("honest", "hostile")]
    assert len(cheats) >= 13
    assert not any(row["gained"] for row in cheats)
    programs = {path.name for path in PROGRAMS.iterdir()}
    assert {row["id"].removeprefix("after_all_") for row in found} <= programs
    # Verdicts of cheats are those that their first lines name.
    assert all(row["as_expected"] for row in cheats)


def test_gradings_got_the_verdicts_that_the_solutions_name() -> None:
    sessions = [row for row in rows("gradings") if "verdict" in row]
    assert len(sessions) >= 7
    assert all(row["as_expected"] for row in sessions)
    assert all(row["ranked"] for row in sessions if row["verdict"] == "accepted")
