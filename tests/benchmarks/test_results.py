"""Committed results parse, and every median, cv and ratio in them is recomputed."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMMITTED = sorted((BENCHMARKS / "results").glob("*.json"))


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_schema", BENCHMARKS / "results_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


schema = _load()


def document(**fields: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "device": "AMD EPYC",
        "driver": "",
        "torch": "2.13.0",
        "commit": "0123abc",
        "date": "2026-11-30",
        "command": "python benchmarks/x.py",
        "rows": [{"id": "a", "kernel": "copy", **fields}],
    }


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_a_committed_file_parses_and_recomputes(path: Path) -> None:
    assert schema.read(path).rows


def test_there_are_results() -> None:
    assert COMMITTED


RIGHT = {
    "seconds": 2.0,
    "cv": 0.5,
    "seconds_min": 1.0,
    "bound_seconds": 1.0,
    "fraction": 0.5,
    "gap": {"min": 1, "median": 2, "max": 3},
    "samples": {"seconds": [1.0, 2.0, 3.0]},
    "ratios": {"fraction": ["bound_seconds", "seconds"]},
}


def test_a_right_row_is_read(tmp_path: Path) -> None:
    row = schema.read(written(tmp_path, document(**RIGHT))).rows[0]
    assert row.fields["fraction"] == 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds": 2.1}, "seconds is 2.1, but 2.0 follows"),
        ({"cv": 0.4}, "cv is 0.4, but 0.5 follows"),
        ({"seconds_min": 0.9}, "seconds_min"),
        ({"fraction": 0.6}, "fraction is 0.6, but 0.5 follows"),
        ({"ratios": {}}, "fraction cannot be recomputed"),
        ({"samples": {}}, "cv cannot be recomputed"),
        ({"ratios": {"fraction": ["bound_seconds", "absent"]}}, "these are 1.0 and None"),
        ({"samples": {"seconds": []}}, "samples"),
        ({"time_us": 3.0}, "units are SI"),
        ({"share_percent": 3.0}, "units are SI"),
        ({"gain_ratio": 3.0}, "gain_ratio cannot be recomputed"),
        ({"gap": {"min": 3, "max": 1}}, "do not ascend"),
        ({"gap": {"p99": 3}}, "a table holds some of"),
        ({"raw": [1.0, 2.0]}, "raw values belong under samples"),
    ],
)
def test_a_number_that_does_not_follow_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(schema.ResultsError, match=message):
        schema.read(written(tmp_path, document(**(RIGHT | changes))))


@pytest.mark.parametrize(
    ("key", "value"),
    [("commit", ""), ("commit", "main"), ("date", "yesterday"), ("device", ""), ("rows", []), ("schema", 2)],
)
def test_a_header_says_where_it_comes_from(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises(schema.ResultsError, match=key):
        schema.read(written(tmp_path, document(**RIGHT) | {key: value}))


def test_an_id_names_one_row(tmp_path: Path) -> None:
    content = document(**RIGHT)
    content["rows"] *= 2
    with pytest.raises(schema.ResultsError, match="occurs twice"):
        schema.read(written(tmp_path, content))


def test_what_is_written_is_read_back_and_a_contradiction_is_not_written(tmp_path: Path) -> None:
    results = schema.ResultsFile.model_validate(document(**RIGHT))
    schema.write(tmp_path / "new" / "y.json", results)
    assert schema.read(tmp_path / "new" / "y.json") == results
    wrong = schema.ResultsFile.model_validate(document(**(RIGHT | {"seconds": 9.0})))
    with pytest.raises(schema.ResultsError):
        schema.write(tmp_path / "z.json", wrong)
    assert not (tmp_path / "z.json").exists()


def test_a_header_of_this_machine_is_complete(tmp_path: Path) -> None:
    header = schema.header("python x.py", "CPU")
    content = header | {"rows": [{"kernel": "copy", "seconds": 1.0}]}
    assert schema.read(written(tmp_path, content)).commit == header["commit"]
