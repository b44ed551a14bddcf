"""The committed result of the hostile programs, recounted from its rows."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "hostile.json"
PROGRAMS = ROOT / "tests" / "hostile" / "programs"
WAYS = ("", "_at_build", "_in_rank")
FAMILIES = {"processes", "time", "memory", "output", "protocol", "disk", "build", "reach", "ends"}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text("utf-8"))["rows"]
    return found


def test_the_sums_follow_from_the_programs(rows: list[dict[str, Any]]) -> None:
    sums = {row["id"]: row for row in rows if "program" not in row}
    own = [row for row in rows if "program" in row]
    assert Counter(row["backend"] for row in own) == {name: row["programs"] for name, row in sums.items()}
    for name, row in sums.items():
        mine = [program for program in own if program["backend"] == name]
        assert row["families"] == len({program["family"] for program in mine})
        assert row["builds"] == sum(bool(program["verdict_at_build"]) for program in mine)
        assert row["ranks"] == sum("verdict_in_rank" in program for program in mine)
        escapes = [program["id"] for program in mine for way in WAYS if program.get(f"escaped{way}")]
        assert row["escapes"] == len(escapes) == 0
        wrong = [
            program["id"]
            for program in mine
            for way in WAYS
            if program.get(f"verdict{way}", "") not in program.get(f"expected{way}", "").split(",")
        ]
        assert row["wrong_verdicts"] == len(wrong) == 0
        assert row["not_held"] == 0


def test_every_program_was_harmless_here_and_harmful_in_its_control(rows: list[dict[str, Any]]) -> None:
    for row in (row for row in rows if "program" in row):
        assert row["held"], row["id"]
        assert row["harmful_when_lifted"], row["id"]
        for way in ("", "_in_rank") if row["backend"] != "unpacker" else ("",):
            assert (row[f"left{way}"], row[f"canary{way}"]) == (0, "accepted"), row["id"]


def test_at_least_ninety_programs_of_all_families_ran_on_every_backend(rows: list[dict[str, Any]]) -> None:
    own = [row for row in rows if "program" in row and row["backend"] != "unpacker"]
    for backend in {row["backend"] for row in own} | {"bubblewrap", "docker"}:
        mine = [row for row in own if row["backend"] == backend]
        assert len({row["program"] for row in mine}) >= 90, backend
        assert {row["family"] for row in mine} >= FAMILIES, backend
        at_build = [row for row in mine if row["verdict_at_build"] or row["family"] == "build"]
        assert {row["family"] for row in at_build} >= FAMILIES, backend
        assert all(row["verdict_in_rank"] for row in mine), backend


def test_the_programs_are_here(rows: list[dict[str, Any]]) -> None:
    for row in (row for row in rows if "program" in row):
        folder = PROGRAMS / "uploads" if row["backend"] == "unpacker" else PROGRAMS
        assert (folder / row["program"]).is_file(), row["id"]
