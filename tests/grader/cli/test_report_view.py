"""What `solmark grade` prints of a Report, in both languages."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader.cli import report_view
from grader.cli.language import Locale
from grader.cli.report_view import quantity
from grader.contract import VERSION, Measure, Report, read
from grader.messages import text
from server.web import report_view as pages
from server.web.render import Reader

WRITTEN = Path(__file__).parents[1] / "wire" / str(VERSION - 1) / "report.json"
"""Of a real grading whose one timed case was ranked."""


def _printed(locale: Locale, score: Mapping[str, object] | None = None, /, **changes: object) -> str:
    document = json.loads(WRITTEN.read_text("utf-8")) | {"version": VERSION}
    document["timed"][0] |= changes
    looked_at = {"ranked": False, "review": True, "unranked_reason": text("staff_look").model_dump()}
    document["score"] |= looked_at if score is None else score
    console = Console(width=160, file=io.StringIO(), record=True)
    report_view.show(read(Report, json.dumps(document)), console, locale)
    return console.export_text()


@pytest.mark.parametrize(
    ("locale", "bias", "disturbed", "bound_by", "waits"),
    [
        ("en", "at most: wide 1.43 µs", "wide: 9 of 20 rounds did not count", "memory", "The staff look at"),
        ("zh", "时间偏差：wide 1.43 µs", "wide：20 轮中有 9 轮未计入", "内存", "先由课程人员查看"),
    ],
)
def test_how_exact_the_times_are_and_what_they_wait_for(
    locale: Locale, bias: str, disturbed: str, bound_by: str, waits: str
) -> None:
    printed = _printed(locale, disturbed_rounds=9)
    for fact in (bias, disturbed, bound_by, waits):
        assert fact in printed, fact


def test_a_sentence_is_said_once() -> None:
    busy = text("disturbed", disturbed=9, rounds=10, slower="1.25", least=11)
    changes: dict[str, Any] = {
        "verdict": "unstable_timing",
        "message": busy.model_dump(),
        "disturbed_rounds": 9,
    }
    nothing: dict[str, Any] = {
        "measure": None,
        "fraction": None,
        "fraction_low": None,
        "fraction_high": None,
        "rounds": [],
    }
    reason: dict[str, Any] = {"fraction": None, "low": None, "high": None, "ranked": False}
    reason |= {"fraction_reason": busy.model_dump(), "unranked_reason": busy.model_dump(), "review": False}
    printed = _printed("en", reason, **changes, **nothing)
    assert printed.count("The machine was busy with something else") == 1
    assert "unranked: see above" in printed
    assert "did not count" not in printed
    assert "constant that the judge subtracts" not in printed


def test_what_has_no_doubt_is_not_mentioned() -> None:
    printed = _printed("en", bias_bound_seconds=0.0)
    assert "constant that the judge subtracts" not in printed
    assert "did not count" not in printed


@pytest.mark.parametrize(
    ("unit", "value", "en", "zh"),
    [
        ("s", 5.29345e-4, "529 µs", "529 µs"),
        ("ns", 529345.2, "529,345 ns", "529,345 ns"),
        ("cycles", 1234567.0, "1,234,567 cycles", "1,234,567 周期"),
        ("tokens", 0.25, "0.25 tokens", "0.25 token"),
    ],
)
def test_a_large_value_has_no_exponent(unit: str, value: float, en: str, zh: str) -> None:
    measure = Measure(quantity="q", unit=unit, better="lower", value=value, low=value, high=value)
    assert (quantity(measure, value, "en"), quantity(measure, value, "zh")) == (en, zh)
    for language, shown in (("en", en), ("zh", zh)):
        assert pages.quantity(Reader(language), measure, value) == shown
