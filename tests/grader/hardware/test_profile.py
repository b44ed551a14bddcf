"""Profiles: what is committed is sane, and a calibration is merged in, kept apart by machine, or refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader import sol
from grader.hardware import profile
from grader.hardware.profile import Calibration, CalibrationError, CoreRates, HardwareError, cpu_model, load
from grader.task import Cost

ROW = CoreRates(dram=2e10, units={"fp32": 1e11}, fastest={"dram": 3e10})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOLMARK_HOME", str(tmp_path))
    return tmp_path


def store(**changes: Any) -> Path:
    values: dict[str, Any] = {
        "hardware": "cpu",
        "name": cpu_model(),
        "calibrated": "2026-01-01T00:00:00+00:00",
        "llc_bytes": 1 << 25,
        "candidate_cores": 1,
        "by_cores": {1: ROW, 2: CoreRates(dram=3e10, units={"fp32": 2e11})},
        "overhead_seconds": {"function": 1e-4},
    }
    calibration = Calibration(**(values | changes))
    path = profile.data_folder() / f"{calibration.hardware}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(calibration.model_dump_json(), "utf-8")
    return path


def test_a_cpu_that_was_never_calibrated_loads_without_rates() -> None:
    hardware = load("cpu")
    assert hardware.calibrated is None
    with pytest.raises(sol.SolError, match="solmark calibrate"):
        sol.bound(Cost(dram_bytes=1.0), hardware)


def test_a_calibration_gives_the_rates_of_the_candidates_cores() -> None:
    store()
    hardware = load("cpu")
    assert (hardware.cores, hardware.name) == (1, cpu_model())
    assert hardware.dram is not None
    assert (hardware.dram.score, hardware.dram.measured) == (2e10, 3e10)  # Of a copy, and of any kernel.
    assert hardware.dram.ceiling == pytest.approx(1.25 * 3e10)
    assert hardware.units["fp32"].ceiling == pytest.approx(1.25e11)
    assert hardware.overhead_seconds == {"function": 1e-4}
    assert load("cpu", cores=2).units["fp32"].score == 2e11
    with pytest.raises(CalibrationError, match="no row for 7 cores"):
        load("cpu", cores=7)


def test_a_calibration_of_another_cpu_is_refused() -> None:
    store(name="Some other CPU")
    with pytest.raises(CalibrationError, match=r"another CPU.*calibrate --force"):
        load("cpu")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hardware": "cpu"}', '{"version": 2}'])
def test_a_damaged_calibration_is_refused_with_what_to_do(text: str) -> None:
    store().write_text(text, "utf-8")
    with pytest.raises(HardwareError, match=r"damaged.*solmark calibrate"):
        load("cpu")


def test_a_cache_larger_than_any_is_damage_and_not_memory_to_stream_through() -> None:
    path = store()
    path.write_text(path.read_text("utf-8").replace(str(1 << 25), str(10**18)), "utf-8")
    with pytest.raises(CalibrationError, match=r"damaged.*llc_bytes.*solmark calibrate"):
        load("cpu")


def test_a_calibration_under_a_false_name_is_refused() -> None:
    path = store(hardware="h200")
    path.rename(path.with_name("cpu.json"))
    with pytest.raises(HardwareError, match="made for 'h200'"):
        load("cpu")


def test_the_digest_follows_the_rates_and_nothing_that_differs_by_node() -> None:
    store()
    before = load("cpu").digest
    store(calibrated="2026-02-02T00:00:00+00:00", overhead_seconds={"function": 2e-4})
    assert load("cpu").digest == before
    store(by_cores={1: CoreRates(dram=2.1e10, units={"fp32": 1e11})})
    assert load("cpu").digest != before


@pytest.mark.parametrize("name", ["", "../cpu", "CPU", "cpu x", "h9000", "x2"])
def test_an_unknown_class_is_refused_and_the_known_ones_named(name: str) -> None:
    with pytest.raises(HardwareError, match="cpu"):
        load(name)


def test_several_devices_have_the_rates_of_one() -> None:
    one, two = load("h200"), load("h200x2")
    assert (two.hardware, two.devices) == ("h200x2", 2)
    assert two.dram == one.dram
    assert two.digest != one.digest


@pytest.mark.parametrize("name", [name for name in profile.classes() if name != "cpu"])
def test_a_datasheet_is_complete_and_below_what_physics_allows(name: str) -> None:
    hardware = load(name)
    assert hardware.processors is not None
    assert hardware.max_clock_hertz is not None
    assert hardware.llc_bytes is not None
    assert hardware.memory_bytes is not None
    rated = [
        hardware.dram,
        hardware.units["fp32"],
        hardware.units["tensor_bf16"],
        hardware.units["tensor_fp16"],
    ]
    assert all(rates is not None for rates in rated)
    for rates in (*hardware.units.values(), hardware.dram, hardware.link):
        # On an RTX 4090 fp16 sums double the rate, and boards clock 23 % above the whitepaper.
        assert rates is None or rates.score <= rates.ceiling <= 2.5 * rates.score


def test_each_ceiling_is_a_whole_number_of_operations_per_clock_and_processor() -> None:
    for name in profile.classes():
        hardware = load(name)
        if hardware.kind == "cpu" or hardware.processors is None or hardware.max_clock_hertz is None:
            continue
        for unit, rates in hardware.units.items():
            per_clock = rates.ceiling / (hardware.processors * hardware.max_clock_hertz)
            nearest = max(1, round(per_clock))
            assert per_clock == pytest.approx(nearest, rel=1e-3), f"{name} {unit}"
            assert nearest & (nearest - 1) == 0, f"{name} {unit}: {nearest} is no power of two"


def test_a_gpus_calibration_adds_what_was_measured_and_leaves_the_scores_rates() -> None:
    committed = load("h200")
    store(hardware="h200", name="NVIDIA H200", by_cores={}, units={"tensor_bf16": 7.7e14}, dram=4.2e12)
    merged = load("h200")
    assert merged.units["tensor_bf16"].measured == 7.7e14
    assert merged.units["tensor_bf16"].score == committed.units["tensor_bf16"].score
    assert merged.dram is not None
    assert merged.dram.measured == 4.2e12
    assert merged.digest == committed.digest


def test_the_data_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert profile.data_folder() == tmp_path / "hardware"
    monkeypatch.delenv("SOLMARK_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert profile.data_folder() == tmp_path / "data" / "solmark" / "hardware"
    for name in ("XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "getuid", lambda: 1 << 30)  # A user without an entry in the user database.
    with pytest.raises(CalibrationError, match="set SOLMARK_HOME"):
        profile.data_folder()


def test_profiles_are_plain_json_both_ways() -> None:
    store()
    hardware = load("cpu")
    assert profile.Hardware.model_validate_json(json.dumps(hardware.model_dump(mode="json"))) == hardware
