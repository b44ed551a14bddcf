"""The committed chaos runs, counted again: nothing lost, double or stuck in any, and enough are large."""

import json
from collections import Counter
from pathlib import Path

RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"
ACTS = 16
SUBMISSIONS = 1000
SANDBOXED = 50
SEEDS = 5


def test_five_seeds_of_a_thousand_lost_nothing() -> None:
    rows = json.loads(RESULT.read_text("utf-8"))["rows"]
    submitted: Counter[int] = Counter()
    sandboxed: Counter[int] = Counter()
    databases: dict[int, set[str]] = {}
    for row in rows:
        submitted[row["seed"]] += row["submitted"]
        sandboxed[row["seed"]] += row["sandboxed"]
        databases.setdefault(row["seed"], set()).add(row["database"])
        assert row["final"] == row["submitted"], row["id"]
        assert row["lost"] == row["double"] == row["stuck"] == row["other_faults"] == 0, row["id"]
        acts = {key: value for key, value in row.items() if key.startswith("acts_")}
        assert row["acts"] == sum(acts.values())
        assert len(acts) >= ACTS
        assert min(acts.values()) >= 1, row["id"]
    large = [
        seed
        for seed, found in databases.items()
        if found == {"sqlite", "postgresql"}
        and submitted[seed] >= SUBMISSIONS
        and sandboxed[seed] >= SANDBOXED
    ]
    assert len(large) >= SEEDS
