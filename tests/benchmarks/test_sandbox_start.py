"""The committed measurement of starting sandboxes keeps what was promised, recounted from its samples."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "sandbox.json"
MOST_SECONDS = {"bubblewrap": 0.1, "docker": 0.6}
"""Beyond the interpreter's own start."""
LEAST_STARTS, LEAST_TIMED = 500, 100


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return {row["id"]: row for row in json.loads(RESULTS.read_text("utf-8"))["rows"]}


@pytest.mark.parametrize("backend", MOST_SECONDS)
def test_a_sandbox_starts_within_its_bound(rows: dict[str, Any], backend: str) -> None:
    samples = rows[backend]["samples"]
    assert len(samples["seconds"]) == len(samples["python_seconds"]) == rows[backend]["timed"] >= LEAST_TIMED
    beyond = statistics.median(samples["seconds"]) - statistics.median(samples["python_seconds"])
    assert rows[backend]["beyond_python_seconds"] == pytest.approx(beyond, rel=1e-6)
    assert 0 < beyond <= MOST_SECONDS[backend]


@pytest.mark.parametrize("backend", MOST_SECONDS)
def test_five_hundred_starts_leave_nothing(rows: dict[str, Any], backend: str) -> None:
    left = {name: value for name, value in rows[backend].items() if name.startswith("left_")}
    counted = ("processes", "cgroups", "mounts", "containers", "folders", "descriptors")
    assert left.keys() >= {f"left_{name}" for name in counted}
    assert set(left.values()) == {0}
    assert rows[backend]["starts"] >= LEAST_STARTS
