"""Charts are well-formed, to scale, and say in words what they show."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.web import charts
from server.web.charts import Interval, Line, Point

FRACTIONS = st.floats(1e-9, 1.0)


def _bar_width(fraction: float) -> float:
    svg = ET.fromstring(charts.bar(Interval(fraction, fraction, fraction), "x"))
    return float(next(part.get("width", "") for part in svg if part.get("class") == "bar"))


def test_equal_ratios_are_equal_lengths() -> None:
    assert _bar_width(1.0) > _bar_width(0.5) > _bar_width(0.1)
    assert _bar_width(1.0) - _bar_width(0.5) == pytest.approx(_bar_width(0.1) - _bar_width(0.05), abs=0.02)


@given(FRACTIONS, st.floats(1e-9, 1e3), st.floats(1e-9, 1e3))
def test_every_case_stays_inside_the_picture(fraction: float, one: float, other: float) -> None:
    points = [
        Point("<a>", one, Interval(fraction / 2, fraction, min(1.0, fraction * 2)), "dram"),
        Point("b", other, Interval(fraction, fraction, fraction), "fp32"),
    ]
    svg = charts.light(points, [Line("naïve & slow", 0.2)], title="t", x_label="x", y_label="y")
    root = ET.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for part in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(part.get(name, 0)) <= width
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(part.get(name, 0)) <= height
    assert root.findtext("title") == "t"


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50))
def test_rounds_and_shares_of_any_times_are_drawn(times: list[float]) -> None:
    strip = ET.fromstring(charts.strip(times, min(times) / 2, "rounds"))
    assert sum(part.tag == "circle" for part in strip) == len(times)
    shares = ET.fromstring(charts.shares(times, "shares"))
    assert sum(part.tag == "rect" for part in shares) == len(times)


def test_labels_that_would_collide_move_apart() -> None:
    points = [Point(name, 1e-3, Interval(0.5, 0.5, 0.5), "dram") for name in ("one", "two", "three")]
    svg = charts.light(points, [], title="t", x_label="x", y_label="y")
    rows = [float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)" class="label', svg)]
    assert len(rows) == 3
    assert min(abs(a - b) for i, a in enumerate(rows) for b in rows[:i]) >= 13


@given(st.floats(1e-12, 1e6))
def test_seconds_keep_three_digits(value: float) -> None:
    number, unit = charts.seconds_text(value).split()
    scale = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert math.isclose(float(number) * scale, value, rel_tol=6e-3, abs_tol=6e-13)
