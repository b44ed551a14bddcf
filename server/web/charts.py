"""Charts as SVG drawn on the server: colours come from the style sheet, a table stands beside each.

All fractions are of the speed of light, on a logarithmic axis from `FLOOR` to 1: a step from 5 % to 10 % is
as much work as one from 50 % to 100 %, and looks like it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

FLOOR = 0.01
"""Fractions below this are drawn at the axis's end."""
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Interval:
    """A fraction of the speed of light with its interval."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Point:
    """One timed case: bound in seconds, fraction with interval, and the resource that binds it."""

    label: str
    bound_seconds: float
    fraction: Interval
    bound_by: str


@dataclass(frozen=True)
class Line:
    """A labelled fraction to compare with: a milestone, a best result."""

    label: str
    fraction: float


def bar(interval: Interval, label: str) -> Markup:
    """A fraction as a bar with its interval, to stand in a table's row."""
    width, height = 160.0, 20.0

    def x(fraction: float) -> float:
        return 1 + (width - 2) * _position(fraction)

    ticks = "".join(
        _tag("line", x1=x(tick), x2=x(tick), y1=2, y2=height - 2, class_="grid") for tick in (0.1, 0.5)
    )
    parts = [
        _tag("rect", x=0.5, y=4, width=width - 1, height=height - 8, rx=3, class_="track"),
        _tag(
            "rect", x=1, y=4.5, width=max(x(interval.value) - 1, 1), height=height - 9, rx=2.5, class_="bar"
        ),
        ticks,
        _whisker(x(interval.low), x(interval.high), height / 2, 4),
    ]
    return _svg(width, height, label, "".join(parts), "inline-chart")


def whisker(interval: Interval, lowest: float, highest: float, label: str) -> Markup:
    """An interval as a dot with whiskers on an axis that all rows of a board share."""
    width, height = 160.0, 20.0
    left, right = math.log(max(lowest, FLOOR) * 0.97), math.log(min(highest * 1.03, 1.03))

    def x(fraction: float) -> float:
        share = (math.log(max(fraction, FLOOR)) - left) / max(right - left, 1e-9)
        return 6 + (width - 12) * min(max(share, 0.0), 1.0)

    parts = [
        _tag("line", x1=2, x2=width - 2, y1=height / 2, y2=height / 2, class_="grid"),
        _whisker(x(interval.low), x(interval.high), height / 2, 4),
        _tag("circle", cx=x(interval.value), cy=height / 2, r=4, class_="dot"),
    ]
    return _svg(width, height, label, "".join(parts), "inline-chart")


def light(
    points: Sequence[Point], lines: Sequence[Line], *, title: str, x_label: str, y_label: str
) -> Markup:
    """Distance from the speed of light: fraction over the bound's time, both logarithmic.

    The roof is 100 %; a kernel that only pays a constant cost climbs to it from left to right. The marker's
    shape names the resource that binds a case.
    """
    width, height, left, right, top, bottom = 900.0, 340.0, 58.0, 30.0, 24.0, 52.0
    decades = _decades([point.bound_seconds for point in points])

    def x(seconds: float) -> float:
        share = (math.log10(seconds) - decades[0]) / (decades[-1] - decades[0])
        return left + (width - left - right) * share

    def y(fraction: float) -> float:
        return height - bottom - (height - top - bottom) * _position(fraction)

    parts: list[str] = []
    for tick in _TICKS:
        kind = "roof" if tick == 1.0 else "grid"
        parts.append(_tag("line", x1=left, x2=width - right, y1=y(tick), y2=y(tick), class_=kind))
        parts.append(_text(left - 8, y(tick) + 4, f"{tick * 100:g} %", "axis end"))
    for decade in decades:
        position = x(10.0**decade)
        parts.append(_tag("line", x1=position, x2=position, y1=top, y2=height - bottom, class_="grid"))
        parts.append(_text(position, height - bottom + 18, _decade_text(decade), "axis middle"))
    for line in lines:
        position = y(line.fraction)
        parts.append(_tag("line", x1=left, x2=width - right, y1=position, y2=position, class_="milestone"))
        parts.append(_text(left + 6, position - 5, line.label, "axis"))
    binding = sorted({point.bound_by for point in points})
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda one: one.bound_seconds):
        centre, middle = x(point.bound_seconds), y(point.fraction.value)
        upper, lower = y(point.fraction.high), y(point.fraction.low)
        parts.append(_tag("line", x1=centre, x2=centre, y1=upper, y2=lower, class_="whisker"))
        parts.append(_marker(binding.index(point.bound_by), centre, middle))
        parts.append(_place_label(point.label, centre, middle, taken, width - right))
    parts.append(_text(left + (width - left - right) / 2, height - 10, x_label, "axis middle"))
    parts.append(_text(left, 12, y_label, "axis"))
    return _svg(width, height, title, "".join(parts), "chart")


def marker(index: int) -> Markup:
    """The marker of the index-th binding resource of `light`, for its legend."""
    body = _tag("g", _marker(index, 8, 8))
    return _svg(16, 16, "", body, "marker-key")


def strip(rounds: Sequence[float], bound: float | None, label: str) -> Markup:
    """The times of all rounds in the order they ran, with the median as a line and the bound at the foot."""
    width, height = 160.0, 34.0
    lowest = min([*rounds, bound] if bound else rounds)
    highest = max(rounds)
    span = max(highest - lowest, highest * 1e-6, 1e-12)

    def y(seconds: float) -> float:
        return height - 4 - (height - 8) * (seconds - lowest) / span

    median = sorted(rounds)[len(rounds) // 2]
    step = (width - 8) / max(len(rounds) - 1, 1)
    parts = [_tag("line", x1=0, x2=width, y1=y(median), y2=y(median), class_="grid")]
    if bound:
        parts.append(_tag("line", x1=0, x2=width, y1=y(bound), y2=y(bound), class_="roof"))
    parts += [
        _tag("circle", cx=4 + step * index, cy=y(seconds), r=1.8, class_="dot")
        for index, seconds in enumerate(rounds)
    ]
    return _svg(width, height, label, "".join(parts), "inline-chart")


def shares(seconds: Sequence[float], label: str) -> Markup:
    """Where the time went: one bar, a segment for each step, coloured in turn (`part-0` to `part-7`)."""
    width, height = 720.0, 22.0
    total = sum(seconds) or 1.0
    position, parts = 0.0, []
    for index, value in enumerate(seconds):
        size = width * value / total
        parts.append(
            _tag("rect", x=position, y=0, width=max(size - 1, 0.5), height=height, class_=f"part-{index % 8}")
        )
        position += size
    return _svg(width, height, label, "".join(parts), "shares")


def seconds_text(seconds: float) -> str:
    """Seconds with three significant digits and an SI prefix: `1.23 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= scale * 0.9995:
            return f"{_three_digits(seconds / scale)} {unit}"
    return "0 s" if seconds == 0 else f"{_three_digits(seconds * 1e9)} ns"


def _three_digits(value: float) -> str:
    digits = min(max(2 - math.floor(math.log10(abs(value))), 0), 3)
    return f"{value:.{digits}f}"


def _position(fraction: float) -> float:
    clamped = min(max(fraction, FLOOR), 1.0)
    return 1 - math.log(clamped) / math.log(FLOOR)


def _decades(values: Sequence[float]) -> range:
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def _decade_text(decade: int) -> str:
    seconds = 10.0**decade
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale * 0.9995:
            return f"{seconds / scale:.0f} {unit}"
    return f"{seconds * 1e9:g} ns"


def _place_label(
    label: str, centre: float, middle: float, taken: list[tuple[float, float, float]], edge: float
) -> str:
    """Beside its marker, moved down where another label already stands; left of it near the right edge.

    `taken` holds (left, right, row) of the labels so far.
    """
    size = 6.4 * len(label)
    leftward = centre + 10 + size > edge
    start, end = (centre - 10 - size, centre - 10) if leftward else (centre + 10, centre + 10 + size)
    row = middle + 4
    while any(start < right and left < end and abs(row - line) < 13 for left, right, line in taken):
        row += 13
    taken.append((start, end, row))
    return _text(centre - 10, row, label, "label end") if leftward else _text(start, row, label, "label")


def _marker(index: int, x: float, y: float) -> str:
    size = 5.0
    shapes = (
        _tag("circle", cx=x, cy=y, r=size, class_="dot"),
        _tag("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, class_="dot second"),
        _tag("path", d=f"M{x:.1f} {y - 6:.1f}l6 11h-12Z", class_="dot third"),
        _tag("path", d=f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6Z", class_="dot fourth"),
    )
    return shapes[index % len(shapes)]


def _whisker(low: float, high: float, y: float, half: float) -> str:
    return (
        _tag("line", x1=low, x2=high, y1=y, y2=y, class_="whisker")
        + _tag("line", x1=low, x2=low, y1=y - half, y2=y + half, class_="whisker")
        + _tag("line", x1=high, x2=high, y1=y - half, y2=y + half, class_="whisker")
    )


def _text(x: float, y: float, content: str, class_: str) -> str:
    return _tag("text", str(escape(content)), x=x, y=y, class_=class_)


def _tag(name: str, content: str = "", **attributes: object) -> str:
    """One element; `content` is markup already, attributes are escaped here."""
    pairs = "".join(
        f' {key.rstrip("_")}="{escape(f"{value:.2f}" if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def _svg(width: float, height: float, label: str, body: str, class_: str) -> Markup:
    title = f"<title>{escape(label)}</title>" if label else ""
    role = 'role="img"' if label else 'aria-hidden="true"'
    return Markup(  # noqa: S704 - `_tag` has escaped every attribute and text.
        f'<svg viewBox="0 0 {width:g} {height:g}" class="{class_}" {role}>{title}{body}</svg>'
    )
