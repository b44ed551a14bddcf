"""Milestones are measurements: each names a row of `benchmarks/results`, and says the fraction in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.checks import TOML
from grader.faults import Fault, near
from grader.spec import MilestoneSpec, Spec

_RESULTS = Path("benchmarks") / "results"
_MILESTONE_TOLERANCE = 0.02


def faults(spec: Spec, root: Path) -> list[Fault]:
    """Milestones whose measurement is not a row of `benchmarks/results`, or says another fraction.

    The results lie in the checkout; a bundle or a student's copy elsewhere cannot be held against them.
    """
    results = next((parent / _RESULTS for parent in root.parents if (parent / _RESULTS).is_dir()), None)
    if results is None:
        return []
    found: list[Fault] = []
    for target in spec.targets:
        for milestone in target.milestones:
            key = f'targets["{target.hardware}"].milestones["{milestone.name}"]'
            file, _, row = milestone.measurement.partition(":")
            rows = _rows(results / f"{file}.json")
            if rows is None:
                known = [path.stem for path in results.glob("*.json")]
                wrong = f"there is no benchmarks/results/{file}.json"
                found.append(Fault(TOML, f"{key}.measurement", wrong, near(file, known)))
            elif row not in rows:
                wrong = f"benchmarks/results/{file}.json has no row {row!r}; estimates are no milestones"
                found.append(Fault(TOML, f"{key}.measurement", wrong, near(row, rows)))
            else:
                found += _measured_faults(rows[row], milestone.fraction, key, "fraction")
                found += _case_faults(spec, target.hardware, milestone, rows, key)
    return found


def _measured_faults(row: Mapping[str, Any], fraction: float, key: str, value: str) -> list[Fault]:
    measured = row.get("fraction")
    if not isinstance(measured, float | int) or isinstance(measured, bool):
        return [Fault(TOML, f"{key}.measurement", "that row has no fraction", "name a row that has one")]
    if abs(measured - fraction) > _MILESTONE_TOLERANCE * measured:
        wrong = f"{fraction:g}, but {measured:.4g} was measured"
        return [Fault(TOML, f"{key}.{value}", wrong, f"right is {measured:.3g}")]
    return []


def _case_faults(
    spec: Spec, hardware: str, milestone: MilestoneSpec, rows: Mapping[str, Mapping[str, Any]], key: str
) -> list[Fault]:
    """Fractions by case that are no row of their own, or of no timed case of the target."""
    timed = [
        case.id for case in spec.cases if case.role == "timed" and hardware in (case.targets or (hardware,))
    ]
    row = milestone.measurement.partition(":")[2]
    found: list[Fault] = []
    for case, fraction in milestone.cases.items():
        value = f'cases["{case}"]'
        if case not in timed:
            found.append(Fault(TOML, f"{key}.{value}", "no timed case of this target", near(case, timed)))
        elif (name := f"{row}/{case}") not in rows:
            found.append(Fault(TOML, f"{key}.{value}", f"there is no row {name!r}", near(name, rows)))
        else:
            found += _measured_faults(rows[name], fraction, key, value)
    return found


def _rows(path: Path) -> dict[str, Mapping[str, Any]] | None:
    try:
        document = json.loads(path.read_text("utf-8"))
        return {row["id"]: row for row in document["rows"] if "id" in row}
    except (OSError, ValueError, KeyError, TypeError):
        return None
