"""What was measured on a device and is committed: of the judge of today, and what the documents say of it."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from grader.judge import environment

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PROGRAMS = ROOT / "tests" / "attacks" / "device"
MEASURED = ("attacks", "clock", "constant", "gradings", "kernels", "sandboxed", "steps", "twenty")
GRADINGS = 20
SHORT_SECONDS = 50e-6
MIB = 1 << 20
UNEXPECTED = {
    "hook_done_at_90.cu": "accepted, with 74.2 µs where right programs take 72.6 to 75.4: nothing was gained",
}
"""Programs of `attacks` with another verdict than they name; none of them gained."""
SINCE: dict[str, dict[str, str]] = {}
"""What has changed since a measurement and moves nothing that was measured, by the digest after it."""


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.h200.json").read_text("utf-8"))
    return found


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(name)["rows"]
    return found


def digest(source: bytes) -> str:
    """As benchmarks/gpu/attacks.py takes it: a program and the headers that it includes."""
    total = hashlib.sha256(source)
    for name in re.findall(rb'^#include "(\w+\.cuh)"', source, re.MULTILINE):
        total.update(digest((PROGRAMS / name.decode()).read_bytes()).encode())
    return total.hexdigest()[:16]


@pytest.mark.parametrize("name", MEASURED)
def test_results_belong_to_the_code_that_judges_on_a_device_now(name: str) -> None:
    measured = read(name)["environment"]["device_judge"]
    now = environment.device_judge()
    assert now in (measured, *SINCE.get(measured, {})), (
        f"{name}.h200.json is of {measured}, the code is {now}: measure again (see its `command`), or name "
        "the change in SINCE if it can move neither a time nor a verdict"
    )


def test_every_step_did_what_it_says() -> None:
    steps = rows("steps")
    assert len(steps) >= 31
    assert all(row["held"] for row in steps)
    assert {"arming/cuda", "arming/python"} <= {row["id"] for row in steps}


def test_gradings_got_the_verdicts_that_the_solutions_name() -> None:
    sessions = [row for row in rows("gradings") if "verdict" in row]
    assert len(sessions) >= 7
    assert all(row["as_expected"] for row in sessions)
    accepted = [row for row in sessions if row["verdict"] == "accepted"]
    assert len(accepted) >= 4
    assert all(row["ranked"] and row["yardstick_ok"] and row["duty_cycle"] > 0 for row in accepted)
    assert all(row["sm_hertz"] > 1e9 and row["temperature_celsius"] > 0 for row in accepted)


def test_no_attack_gains_and_sixty_of_them_gain_from_a_naive_grader() -> None:
    attacks = [row for row in rows("attacks") if row["gain"]]
    assert not [row["attack"] for row in attacks if row["gained"]]
    assert {row["id"] for row in rows("attacks") if not row["as_expected"]} == set(UNEXPECTED)
    counted = [row for row in attacks if row["control_gained"]]
    assert len(counted) >= 60
    assert sum(row["attack"].endswith(".cu") for row in counted) >= len(counted) / 3
    assert len({row["family"] for row in counted}) >= 9


def test_overlap_is_seen() -> None:
    overlaps = [row for row in rows("attacks") if row["verdict"] == "overlap"]
    assert len(overlaps) >= 5
    assert all(row["measured"] < row["limit"] for row in overlaps)


def test_attacks_were_measured_on_the_programs_of_today() -> None:
    measured = {row["id"]: row["program"] for row in rows("attacks") if not row["id"].startswith("after_all")}
    here = {
        path.name: digest(path.read_bytes()) for path in PROGRAMS.iterdir() if path.suffix in (".py", ".cu")
    }
    assert measured == here


def test_the_device_is_well_after_all_hostile_programs() -> None:
    last = rows("attacks")[-1]
    assert last["id"].startswith("after_all_honest")
    assert last["verdict"] == "accepted"


def test_graded_times_scatter_less_than_was_asked() -> None:
    clock = rows("clock")
    linked = [row for row in clock if row["linked"]]
    long = [row for row in clock if not row["linked"] and row["seconds"] >= SHORT_SECONDS]
    assert len(linked) >= 3
    assert len(long) >= 4
    assert all(len(row["samples"]["seconds"]) >= GRADINGS for row in linked)
    assert all(len(row["samples"]["seconds"]) >= GRADINGS for row in long)
    assert all(row["cv"] <= 0.02 for row in linked)
    assert all(row["cv"] <= 0.01 for row in long)
    assert not any(row["failed_gradings"] for row in clock)


def test_the_outside_clock_agrees_with_events_where_these_are_steady() -> None:
    long = [row for row in rows("clock") if not row["linked"] and row["seconds"] >= 150e-6]
    assert all(0.98 <= row["events_ratio"] <= 1.02 for row in long)
    assert all(row["ncu_seconds"] > 0 for row in long)


def test_a_sandbox_changes_no_time_by_a_percent() -> None:
    found = rows("sandboxed")
    assert len(found) >= 4
    assert all(len(row["samples"]["plain_seconds"]) >= 5 for row in found)
    assert all(0.99 <= row["sandboxed_ratio"] <= 1.01 for row in found)
    assert not read("sandboxed")["environment"]["refused"]


def test_a_profiler_that_is_attached_slows_no_kernel_bound_by_memory() -> None:
    found = {row["setting"]: row["seconds"] for row in rows("attached") if row["kernel"] == "add-16384"}
    assert found["attached"] == pytest.approx(found["alone"], rel=0.01)
    assert found["profiled"] == pytest.approx(found["alone"], rel=0.01)


def test_ncu_agrees_or_how_far_it_does_not_is_known() -> None:
    long = {row["id"]: row for row in rows("clock") if row.get("ncu_seconds", 0.0) >= SHORT_SECONDS}
    assert len(long) >= 4
    # What an earlier call leaves in the cache is written back at the expense of the next; ncu empties it.
    product = long["product-4096"]
    assert product["clean_seconds"] == pytest.approx(product["ncu_seconds"], rel=0.03)
    # Of memory-bound kernels ncu says less than every other clock: docs/decisions/0013.
    for row in long.values():
        assert 1.0 <= row["ncu_ratio"] <= 1.12
        assert row["clean_ratio"] <= 1.03


def test_memcheck_finds_a_planted_error_and_ncu_counts_in_the_sandbox() -> None:
    found = {row["id"]: row for row in rows("inspections")}
    assert all(row["as_expected"] for row in found.values())
    assert found["memcheck/planted/1"]["verdict"] == "runtime_error"
    assert found["memcheck/planted/1"]["errors"] > 0
    assert found["memcheck/right/1"]["errors"] == 0
    profiled = [row for name, row in found.items() if name.startswith("profile/")]
    assert len(profiled) == 4
    assert all(row["registers"] > 0 and 0.5 < row["dram_throughput"] < 1 for row in profiled)
    assert read("inspections")["environment"]["sandbox"] == "bubblewrap"


def test_twenty_cases_take_less_than_a_minute_of_the_device() -> None:
    total, *cases = rows("twenty")
    assert total["verdict"] == "accepted"
    assert len(cases) == total["cases"] == 20
    assert all(case["verdict"] == "accepted" for case in cases)
    assert total["device_seconds"] <= 60
    parts = ("yardstick", "fill_rates_and_empty_rounds", "session")
    assert sum(total[f"{part}_seconds"] for part in parts) == pytest.approx(total["device_seconds"], abs=0.5)


def test_the_reference_of_add_rmsnorm_is_near_the_speed_of_light() -> None:
    mine = (row for row in rows("kernels") if row["assignment"] == "kernels/add-rmsnorm")
    found = {(row["case"], row["solution"]): row for row in mine}
    shapes = {"h200-narrow": (16384, 2048), "h200-wide": (16384, 4096), "h200-large": (32768, 4096)}
    for case, (height, width) in shapes.items():
        row = found[case, "reference"]
        matrices = 4 * 2 * height * width  # Two read, two written.
        assert matrices > 128 * MIB
        assert row["fraction"] >= (0.85 if matrices >= 512 * MIB else 0.80)
        assert row["seconds"] < 0.6 * row["baseline_seconds"]
        assert found[case, "naive"]["seconds"] > row["baseline_seconds"]
