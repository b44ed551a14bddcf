"""The committed waits of a student, recounted from their samples: for a verdict, and for a page."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "results" / "latency.cpu.json"
BEYOND_SECONDS = 5.0
PAGE_SECONDS = 0.1
FEWEST = {"test": 10, "grade": 3}


def rows(kind: str) -> dict[str, dict[str, Any]]:
    """Rows of one kind, by what comes after it in their id."""
    document = json.loads(FILE.read_text("utf-8"))
    found = {row["id"].partition("/")[2]: row for row in document["rows"] if row["id"].startswith(f"{kind}/")}
    assert found
    return found


@pytest.mark.parametrize("mode", FEWEST)
def test_a_verdict_comes_at_most_five_seconds_after_the_sessions_own_time(mode: str) -> None:
    row = rows("submit-to-verdict")[mode]
    samples = row["samples"]
    assert len(samples["seconds"]) == row["submissions"] >= FEWEST[mode]
    assert max(samples["platform_seconds"]) <= BEYOND_SECONDS
    assert min(samples["sessions"]) == 1, "no grading settled at once: the machine was not idle"
    columns = ("seconds", "session_seconds", "platform_seconds", "whole_session_seconds", "sessions")
    for seconds, shown, platform, whole, sessions in zip(*(samples[name] for name in columns), strict=True):
        assert 0 < shown < whole
        assert seconds + shown == pytest.approx(platform + whole)
        # A grading that was not repeated keeps the limit even without the time its hidden tests are held for.
        assert sessions > 1 or seconds <= BEYOND_SECONDS


def test_pages_answer_in_a_tenth_of_a_second() -> None:
    pages = rows("page")
    assert len(pages) >= 10
    for name, row in pages.items():
        assert len(row["samples"]["seconds"]) == row["requests"] >= 50, name
        assert statistics.median(row["samples"]["seconds"]) <= PAGE_SECONDS, name
