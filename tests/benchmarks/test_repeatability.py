"""The committed repeatability: nine of ten intervals contain the median of the ten, counted again here."""

import json
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_intervals_keep_their_promise() -> None:
    path = RESULTS / "repeatability.cpu.json"
    assert path.exists(), "run `python -m benchmarks.repeatability` on an idle machine"
    check(path)


def check(path: Path) -> None:
    rows = json.loads(path.read_text("utf-8"))["rows"]
    totals = [row for row in rows if "containing_median" in row]
    solutions = {row["id"].split("/")[1] for row in totals}
    assert {"solution.cpp", "solution.py"} <= solutions
    for row in totals:
        samples = row["samples"]
        middle = median(samples["seconds"])
        ends = zip(samples["low_seconds"], samples["high_seconds"], strict=True)
        containing = sum(low <= middle <= high for low, high in ends)
        assert row["containing_median"] == containing
        assert row["gradings"] == len(samples["seconds"]) >= 10
        assert containing >= 0.9 * row["gradings"]
        assert max(samples["session_seconds"]) < 15
        # Each grading's own row has the raw rounds that its time is the median of.
        own = [other for other in rows if str(other.get("id", "")).startswith(f"{row['id']}/")]
        assert [other["seconds"] for other in own] == samples["seconds"]
        assert {other["verdict"] for other in own} == {"accepted"}
