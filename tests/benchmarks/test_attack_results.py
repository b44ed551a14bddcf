"""The committed run of every cheat on a CPU: of the programs of today, none gained, and each control did."""

import hashlib

import pytest

from benchmarks import results_schema
from tests.attacks import corpus
from tests.attacks.grading import GAIN

LEAST = 60


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, object]]:
    """The rows by program."""
    results = results_schema.read(results_schema.RESULTS / "attacks.cpu.json")
    return {str(row.id): dict(row.fields) for row in results.rows}


def test_they_are_of_the_programs_of_today(rows: dict[str, dict[str, object]]) -> None:
    digests = {
        attack.path.name: hashlib.sha256(attack.path.read_bytes()).hexdigest()[:16]
        for attack in corpus.attacks()
    }
    assert {name: row["program"] for name, row in rows.items()} == digests


def test_none_gains_and_each_would_from_a_naive_grader(rows: dict[str, dict[str, object]]) -> None:
    assert len(rows) >= LEAST
    assert not [name for name, row in rows.items() if row["gained"]]
    assert not [name for name, row in rows.items() if not row["control_gained"]]
    assert not [name for name, row in rows.items() if not row["as_expected"]]


def test_what_was_accepted_was_not_faster_in_three_gradings_in_a_row(
    rows: dict[str, dict[str, object]],
) -> None:
    for name, row in rows.items():
        if row["verdict"] == "accepted":
            seconds, honest = row["seconds"], row["honest_seconds"]
            assert isinstance(seconds, float)
            assert isinstance(honest, float)
            assert row["gain"] == "time", name
            assert seconds >= GAIN * honest or row["gradings"] in (1, 2), name
