"""The committed repeatability: nine of ten intervals contain the median of the ten, counted again here."""

import json
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_intervals_keep_their_promise() -> None:
    path = RESULTS / "repeatability.cpu.json"
    assert path.exists(), "run `python -m benchmarks.repeatability` on an idle machine"
    document = json.loads(path.read_text("utf-8"))
    # Wide intervals contain anything: the machine was a steady one.
    assert float(document["environment"]["session_spread"]) <= 0.05
    rows = document["rows"]
    totals = [row for row in rows if "containing_median" in row]
    solutions = {row["id"].split("/")[1] for row in totals}
    assert {"solution.cpp", "solution.py"} <= solutions
    for row in totals:
        samples = row["samples"]
        middle = median(samples["seconds"])
        ends = list(zip(samples["low_seconds"], samples["high_seconds"], strict=True))
        containing = sum(low <= middle <= high for low, high in ends)
        assert row["containing_median"] == containing
        assert row["gradings"] == len(samples["seconds"]) >= 10
        assert containing >= 0.9 * row["gradings"]
        assert max((high - low) / 2 / middle for low, high in ends) < 0.15
        # Those that did not settle took their time too.
        assert len(samples["session_seconds"]) == row["gradings"] + row["unstable"]
        assert max(samples["session_seconds"]) < 15
        # Each grading's own row has the raw rounds that its time is the median of.
        own = [other for other in rows if str(other.get("id", "")).startswith(f"{row['id']}/")]
        assert [other["seconds"] for other in own] == samples["seconds"]
        assert {other["verdict"] for other in own} == {"accepted"}
