"""The committed times of the dispatcher, recounted from their samples: short, however long the history."""

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dispatch import command

FILE = Path(__file__).parents[2] / "benchmarks" / "results" / "dispatch.json"
PLANS = FILE.with_name("dispatch.plans.txt")
MOST_SECONDS = 0.020
FLAT = 1.5
"""A table of a million rows may take so much longer than the smallest: the machine is not all ours."""


def rows(database: str) -> dict[int, dict[str, Any]]:
    document = json.loads(FILE.read_text("utf-8"))
    found = {row["submissions_in_table"]: row for row in document["rows"] if row["database"] == database}
    assert found
    return found


def test_its_command_measures_what_is_in_it() -> None:
    document = json.loads(FILE.read_text("utf-8"))
    assert document["command"] == command(document["rows"], FILE.name)
    assert document["command"] == "python -m benchmarks.dispatch --output benchmarks/results/dispatch.json"
    assert command(document["rows"][:1], "d.json").startswith("python -m benchmarks.dispatch --databases ")


@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_every_size_was_measured_under_the_same_load(database: str) -> None:
    found = rows(database)
    assert min(found) <= 20_000
    assert max(found) >= 1_000_000
    for row in found.values():
        assert (row["queued"], row["workers"]) == (10_000, 64)
        assert len(row["samples"]["seconds"]) == row["dispatches"] >= 200
        # What is inside the database is part of the whole.
        pairs = zip(row["samples"]["seconds"], row["samples"]["transaction_seconds"], strict=True)
        assert all(inside <= whole for inside, whole in pairs)
        seconds = row["samples"]["seconds"]
        told = (row["seconds"], row["seconds_max"], row["transaction_seconds"])
        whole = row["samples"]["transaction_seconds"]
        assert told == (statistics.median(seconds), max(seconds), statistics.median(whole))
        assert row["seconds_mean"] == pytest.approx(statistics.fmean(seconds))


def test_a_dispatch_takes_postgresql_less_than_twenty_milliseconds() -> None:
    for size, row in rows("postgresql").items():
        assert statistics.median(row["samples"]["seconds"]) < MOST_SECONDS, size
        assert statistics.fmean(row["samples"]["seconds"]) < MOST_SECONDS, size
        assert row["first_dispatch_seconds"] / row["first_dispatch_jobs"] < MOST_SECONDS, size


@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_it_does_not_grow_with_the_table(database: str) -> None:
    medians = {size: statistics.median(row["samples"]["seconds"]) for size, row in rows(database).items()}
    assert medians[max(medians)] < FLAT * medians[min(medians)]


def test_the_plans_on_a_million_submissions_read_no_large_table_whole() -> None:
    text = PLANS.read_text("utf-8")
    assert re.search(r"^# postgresql [\d.]+.*, 1000000 submissions$", text, re.MULTILINE)
    assert "ix_submissions_waiting on submissions" in text
    assert not re.search(r"(Seq Scan on|SCAN) (submissions|attempts)\w*( |$)(?!USING)", text, re.MULTILINE)
