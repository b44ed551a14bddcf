"""The committed chaos runs: five seeds of a thousand submissions each, on both databases; all went well."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import results_schema

FILE = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"
SEEDS = 5
SUBMISSIONS = 1000
SANDBOXED = 50
"""Rows of commit 7706045 count what was handed in for the sandbox; later ones, what ran there."""
KILLS = ("worker", "judge", "sandbox", "server", "dispatcher", "broker", "database", "everything")


def test_nothing_was_lost_double_or_stuck_in_any_seed() -> None:
    document = results_schema.read(FILE)
    asked = re.fullmatch(
        r"python -m tests\.chaos --submissions (\d+) --seeds (\d+) --output benchmarks/results/chaos\.json",
        document.command,
    )
    assert asked is not None
    seeds: dict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in document.rows:
        seeds[row.fields["seed"]][row.fields["database"]] = row.fields
    assert len(seeds) == int(asked[2]) >= SEEDS
    for seed, found in seeds.items():
        assert set(found) == {"sqlite", "postgresql"}, seed
        assert sum(run["submitted"] for run in found.values()) >= max(SUBMISSIONS, int(asked[1])), seed
        assert sum(run["sandboxed"] for run in found.values()) >= SANDBOXED, seed
        for run in found.values():
            assert run["final"] == run["submitted"], seed
            assert (run["lost"], run["double"], run["stuck"], run["other_faults"]) == (0, 0, 0, 0), seed
            assert all(run[f"acts_kill_{name}"] for name in KILLS), seed
